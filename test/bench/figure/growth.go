package figure

import "math"

// Power is a law y = Factor * x^Exponent that was fitted to points.
type Power struct {
	Factor   float64 `json:"factor"`
	Exponent float64 `json:"exponent"`
	// R2 is how much of the points' variation, on logarithmic axes, the law explains: 1 is
	// all.
	R2 float64 `json:"r2"`
}

// Fit fits a power law to points by the least squares of their logarithms. Points that are
// not positive have no logarithm and are left out. It needs two points with different x.
func Fit(xs, ys []float64) (Power, bool) {
	var n, sx, sy, sxx, sxy, syy float64
	for i := range xs {
		if xs[i] <= 0 || ys[i] <= 0 {
			continue
		}
		x, y := math.Log(xs[i]), math.Log(ys[i])
		n, sx, sy, sxx, sxy, syy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y, syy+y*y
	}
	vx, vy, c := n*sxx-sx*sx, n*syy-sy*sy, n*sxy-sx*sy
	if n < 2 || vx < 1e-9 {
		return Power{}, false
	}
	p := Power{Exponent: c / vx, R2: 1}
	if vy > 1e-12 {
		p.R2 = c * c / (vx * vy)
	}
	p.Factor = math.Exp((sy - p.Exponent*sx) / n)
	return p, true
}

// At returns y at x.
func (p Power) At(x float64) float64 { return p.Factor * math.Pow(x, p.Exponent) }
