package figure

import "math"

// Square is a law y = Fixed + Each*x + Pairs*x² that was fitted to points: a part that is always there, one for each of
// x things, and one for each pair of them.
type Square struct{ Fixed, Each, Pairs float64 }

// FitSquare fits such a law by least squares, which needs three points with different x. A power that is fitted through a
// fixed part shows that part and not what grows.
func FitSquare(xs, ys []float64) (Square, bool) {
	// The normal equations, with the right side as the last column.
	var m [3][4]float64
	for i, x := range xs {
		powers := [3]float64{1, x, x * x}
		for row, p := range powers {
			for column, q := range powers {
				m[row][column] += p * q
			}
			m[row][3] += p * ys[i]
		}
	}
	solved, ok := solve(m)
	return Square{solved[0], solved[1], solved[2]}, ok
}

// At returns y at x.
func (s Square) At(x float64) float64 { return s.Fixed + s.Each*x + s.Pairs*x*x }

// solve solves three equations by elimination with pivots.
func solve(m [3][4]float64) (solved [3]float64, ok bool) {
	for k := range 3 {
		pivot := k
		for row := k; row < 3; row++ {
			if math.Abs(m[row][k]) > math.Abs(m[pivot][k]) {
				pivot = row
			}
		}
		m[k], m[pivot] = m[pivot], m[k]
		if math.Abs(m[k][k]) < 1e-9 {
			return solved, false
		}
		for row := range 3 {
			if row == k {
				continue
			}
			factor := m[row][k] / m[k][k]
			for column := k; column < 4; column++ {
				m[row][column] -= factor * m[k][column]
			}
		}
	}
	for k := range 3 {
		solved[k] = m[k][3] / m[k][k]
	}
	return solved, true
}
