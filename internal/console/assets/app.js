"use strict";(()=>{var T,yt,rr,te,He,Se,Et,xe,kt,Be,qe,or,pe=Symbol.for("pv"),je={},$e=[],ir=/^m(i|n|o|s|text|space)$/,Ve=Array.isArray,xt=$e.slice,ie=Object.assign;function oe(e){
e&&e.parentNode&&e.remove()}function Ne(e,t,n,r,o){var i={type:e,props:t,key:n,ref:r,__k:null,__:null,__b:0,__e:null,__c:null,constructor:pe,__v:o||++yt,__i:-1,__u:0};return!o&&T.vnode&&T.
vnode(i),i}function $(e){return e.children}function Oe(e,t){this.props=e,this.context=t,this.__g=0}function ne(e,t){if(t==null)return e.__&&ne(e.__,e.__i+1);for(var n;t<e.
__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:ne(e)}function sr(e){var t,n=e.__v,r=n.__e,o=[],i=[],s=e.__P;
s&&((t=ie({constructor:pe},n)).__v=n.__v+1,T.vnode&&T.vnode(t),We(s,t,n,e.__n,s.namespaceURI,32&n.__u?[r]:null,o,r||ne(n),32&n.__u,i),t.__v=n.__v,t.__.__k[t.__i]=
t,$t(o,t,i),n.__=n.__e=null,t.__e!=r&&Nt(t))}function Nt(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),
Nt(e)}function bt(e){(8&e.__g||(e.__g|=8,te.push(e),Se++))&&He==T.debounceRendering||((He=T.debounceRendering)||queueMicrotask)(Ot)}function Ot(){try{for(var e,
t=1;te.length;)te.length>t&&te.sort(Et),e=te.shift(),t=te.length,8&e.__g&&sr(e)}finally{(Se=te.length)&&(He||queueMicrotask)(Ot)}}function Ct(e,t,n,r,o,i,s,a,u,d,l){
var f,p,h,_,w,b,y=r.__k||$e,g=t.length;for(u=ar(n,t,y,u,g),f=0;f<g;f++)(h=n.__k[f])!=null&&(p=~h.__i&&y[h.__i]||je,h.__i=f,b=We(e,h,p,o,i,s,a,u,d,l),_=h.__e,(p.
ref!=h.ref||8&p.__u)&&(p.ref&&Ue(p.ref,null,h,p),h.ref&&l.push(h.ref,h.__c||_,h)),w=w||_,4&h.__u?(u=St(h,u,e,!p.__v),p.__e&&(p.__e=null)):typeof h.type=="functi\
on"&&b!==void 0?u=b:_&&(u=_.nextSibling),h.__u&=-21);return n.__e=w,u}function ar(e,t,n,r,o){var i,s,a,u,d,l,f,p,h,_=n.length,w=_,b=0,y=0,g=e.__k=Array(o);for(i=
0;i<o;i++)(s=t[i])!=null&&typeof s!="boolean"&&typeof s!="function"?(typeof s!="object"||s.constructor===String?s=g[i]=Ne(null,s):Ve(s)?s=g[i]=Ne($,{children:s}):
s.constructor===pe&&s.__b?s=g[i]=Ne(s.type,s.props,s.key,s.ref,s.__v):g[i]=s,u=i+b,s.__=e,s.__b=e.__b+1,a=null,~(d=s.__i=lr(s,n,u,w))&&(w--,(a=n[d])&&(a.__u|=2)),
a&&a.__v?(s.__u|=16,d==u-1?b--:d==u+1?b++:d!=u&&(d>u?b--:b++,y=1)):(~d||(o>_?b--:o<_&&b++),typeof s.type!="function"&&(s.__u|=4))):g[i]=null;if(y){for(l=[],f=[],
i=0;i<o;i++)if((s=g[i])&&16&s.__u){for(b=0,p=l.length;b<p;)l[h=b+p>>1]<s.__i?b=h+1:p=h;l[b]=s.__i,f[i]=b+1}for(b=l.length;i--;)f[i]&&(f[i]==b?b--:g[i].__u|=4)}if(w)
for(i=0;i<_;i++)!(a=n[i])||2&a.__u||(a.__e==r&&(r=ne(a)),Ye(a,a));return r}function St(e,t,n,r){var o,i,s,a;if(typeof e.type=="function"){if(e.props.__P)return t;
if(o=e.__k)for(i=0;i<o.length;i++)o[i]&&(o[i].__=e,t=St(o[i],t,n,!1));return t}for(t&&!t.parentNode&&(t=ne(e))&&!t.parentNode&&(t=null),s=e.__e,a=t;a&&a.nodeType==
8;)a=a.nextSibling;for(s!=a&&(!r&&n.moveBefore&&s.parentNode?n.moveBefore(s,t):n.insertBefore(s,t||null)),t=s;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith(
"$s"););return t}function lr(e,t,n,r){var o,i=e.key,s=e.type,a=t[n],u=a&&!(2&a.__u);if(a===null&&i==null||u&&i==a.key&&s==a.type)return n;if(r>(u?1:0)){for(o=n-1;o>=0;o--)if((a=
t[o])&&!(2&a.__u)&&i==a.key&&s==a.type)return o;for(o=n+1;o<t.length;o++)if((a=t[o])&&!(2&a.__u)&&i==a.key&&s==a.type)return o}return-1}function wt(e,t,n){n==null&&
(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function ke(e,t,n,r,o){var i,s;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof r=="string"&&(e.style.
cssText=r=""),r)for(t in r)n&&t in n||wt(e.style,t);if(n)for(t in n)r&&n[t]==r[t]||wt(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),
typeof r!="function"&&(r=null),(e.__e||(e.__e={}))[t]=n,n&&r||(s=qe[t]||(qe[t]=ur(t)),(e.__a||(e.__a={}))[t]=Be,i=t!=(t=t.replace(kt,"$1")),(t=t.slice(2))[0]<"a"&&
(t=t.toLowerCase()),n?e.addEventListener(t,s,i):e.removeEventListener(t,s,i));else{if(o=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,
"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)
try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function ur(e){
return function(t){var n=this.__e;if(n){if(n=n[e],t[xe]==null)t[xe]=Be++;else if(t[xe]<this.__a[e])return;return n(T.event?T.event(t):t)}}}function We(e,t,n,r,o,i,s,a,u,d){
var l,f,p,h,_,w,b,y,g,v,m,E,j,P,k,M,L,C,x=t.type;if(t.constructor!==pe)return null;128&n.__u&&(u=32&n.__u,l=n.__c.__z)&&(t.__u|=u,f=i=[],l.nodeType==8?a=Ce(l,i):
i.push(l),a=i[0]||a),(l=T.__b)&&l(t);e:if(typeof x=="function"){p=s.length;try{if(y=t.props,g=(l=x.prototype)&&l.render,v=(l=x.contextType)&&r[l.__c],m=l?v?v.props.
value:l.__:r,(h=n.__c)?(t.__c=h,2&h.__g&&(h.__g|=1)):(g?t.__c=h=new x(y,m):(t.__c=h=new Oe(y,m),h.constructor=x,h.render=cr),v&&v.sub(h),h.state||(h.state={}),h.
__n=r,h.__g|=8,h.__h=[],h.__k=[]),g&&(h.__s||(h.__s=h.state),x.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=ie({},h.__s)),ie(h.__s,x.getDerivedStateFromProps(
y,h.__s)))),_=h.props,w=h.state,h.__v=t,n.__c){if(y!==_&&g&&!x.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(y,m),t.__v==n.
__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(y,h.__s,m)===!1){t.__v!=n.__v&&(h.props=y,h.state=h.__s,h.__g&=-9),t.__e=n.__e,t.__k=
n.__k,t.__k.some(function(N){N&&(N.__=t)}),$e.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&s.push(h),a=ne(n);break e}h.componentWillUpdate&&h.componentWillUpdate(
y,h.__s,m),g&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(_,w,b)})}else g&&!x.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),
g&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=m,h.props=y,h.__P=e,h.__g&=-5,E=T.__r,j=g?25:0;do h.__g&=-9,E&&E(t),l=h.render(h.props,h.state=
h.__s,h.context);while(8&h.__g&&++j<25);g&&($e.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(r=ie({},r,h.getChildContext())),g&&n.__c&&h.getSnapshotBeforeUpdate&&
(b=h.getSnapshotBeforeUpdate(_,w)),P=l&&l.type===$&&l.key==null?l.props.children:l,y.__P&&(l=a,o=(e=y.__P).namespaceURI,u=i=null,n.props&&n.props.__P!=e&&(n.__k.
some(function(N){N&&Ye(N,N)}),n.__k=null),a=n.__k?ne(n,0):null),a=Ct(e,Ve(P)?P:[P],t,n,r,o,i,s,a,u,d),y.__P&&(t.__e=null,a=l),t.__u&=-161,f&&f.some(oe),h.__h.length&&
s.push(h),1&h.__g&&(h.__g&=-4)}catch(N){if(s.length=p,t.__v=null,u||i)if(N&&N.then){if(t.__u|=128|u,i){for(~(L=i.indexOf(a||void 0))||(L=i.length);(C=i[L-1])&&C.
nodeType==8;)L--;for(;L<i.length;L++)if(C=i[L])if(i[L]=null,k){if(C==M)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(M=Ce(k=C))}}if(!k){for(;a&&a.
nodeType==8&&a.nextSibling;)a=a.nextSibling;k=a}(l=Ce(k=t.__c.__z||(t.__c.__z=k)))?(t.__e=k,a=l):t.__e=a,a=a&&a.nextSibling}else i&&i.some(oe);else t.__e=n.__e;
t.__k||(t.__k=n.__k||[]),N&&N.then||jt(t),T.__e(N,t,n)}}else a=t.__e=dr(n.__e,t,n,r,o,i,s,u,d,e);return(l=T.diffed)&&l(t),a}function Ce(e,t){if(e&&e.nodeType==8&&
e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(
e)}}function jt(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(jt))}function $t(e,t,n){for(var r=0;r<n.length;)Ue(n[r++],n[r++],n[r++]);T.__c&&T.__c(t,e),e.some(
function(o){try{e=o.__h,o.__h=[],e.some(function(i){i.call(o)})}catch(i){T.__e(i,o.__v)}})}function dr(e,t,n,r,o,i,s,a,u,d){var l,f,p,h,_,w,b,y,g=n.props||je,v=t.
props,m=t.type;if(m=="svg"?o="http://www.w3.org/2000/svg":m=="math"?o="http://www.w3.org/1998/Math/MathML":o||(o="http://www.w3.org/1999/xhtml"),i){for(l=0;l<i.
length;l++)if((_=i[l])&&(m?_.localName==m:_.nodeType==3)){e=_,i[l]=null;break}}if(!e){if(y=d.ownerDocument||document,!m)return y.createTextNode(v);e=y.createElementNS(
o,m,v.is?v:d),a&&(T.__m&&T.__m(t,i),a=!1),i=null}if(m){if(d=m=="template"&&e.content||e,i=m=="textarea"&&v.defaultValue!=null?null:i&&xt.call(d.childNodes),!a&&
i)for(g={},l=0;l<e.attributes.length;l++)g[(_=e.attributes[l]).name]=_.value;for(l in g)_=g[l],l=="dangerouslySetInnerHTML"?p=_:l=="children"||l in v||l=="value"&&
"defaultValue"in v||l=="checked"&&"defaultChecked"in v||ke(e,l,null,_,o);for(l in v)_=v[l],l=="children"?h=_:l=="dangerouslySetInnerHTML"?f=_:l=="value"?w=_:l==
"checked"?b=_:a&&typeof _!="function"||g[l]===_||ke(e,l,_,g[l],o);f?(a||p&&(f.__html==p.__html||f.__html==e.innerHTML)||(e.innerHTML=f.__html),t.__k=[]):(p&&(e.
textContent=""),(m=="foreignObject"||o=="http://www.w3.org/1998/Math/MathML"&&ir.test(m))&&(o="http://www.w3.org/1999/xhtml"),Ct(d,Ve(h)?h:[h],t,n,r,o,i,s,i?i[0]:
n.__k&&ne(n,0),a,u),i&&i.some(oe)),a&&m!="textarea"||(l="value",m=="progress"&&w==null?e.removeAttribute(l):w==null||w===e[l]&&(m!="progress"||w)||ke(e,l,w,g[l],
o),l="checked",b!=null&&b!=e[l]&&ke(e,l,b,g[l],o))}else g===v||a&&e.data==v||(e.data=v);return e}function Ue(e,t,n,r){try{typeof e=="function"?t?t.__x=e(t)||1:r&&
(r=r.__c||r.__e)&&(t=r.__x)&&(r.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(o){T.__e(o,n)}}function Ye(e,t,n){var r,o,i,s;if(T.unmount&&T.unmount(
e),!(r=e.ref)||r.current&&r.current!=e.__e||Ue(r,null,t,e),r=e.__c){if(r.componentWillUnmount)try{r.componentWillUnmount()}catch(a){T.__e(a,t)}r.__P=r.__n=null}
if(r=e.__k)for(s=0;s<r.length;s++)r[s]&&Ye(r[s],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(r=e.__c)&&(r=r.__z)&&(o=Ce(r,i=[]))&&(r==e.__e&&i.some(oe),oe(
o),oe(r)),n||oe(e.__e),e.__e=e.__c=e.__=null}function cr(e,t,n){return this.constructor(e,n)}function It(e,t){var n,r,o,i;T.__&&T.__(e,t),t.nodeType==9&&(t=t.documentElement),
r=(n=e&&32&e.__u)?null:t.__k,t.__k=Ne($,{children:[e]}),o=[],i=[],We(t,t.__k,r||je,je,t.namespaceURI,r?null:t.firstChild?xt.call(t.childNodes):null,o,r?r.__e:t.
firstChild,n,i),$t(o,t.__k,i),t.__k.props.children=null}T={__e:function(e,t,n,r){for(var o,i,s;t=t.__;)if((o=t.__c)&&!(1&o.__g)){o.__g|=4;try{if((s=(i=o.constructor)&&i.getDerivedStateFromError)&&o.setState(i.getDerivedStateFromError(
e)),o.componentDidCatch&&(o.componentDidCatch(e,r||{}),s=1),s&&8&o.__g)return void(o.__g|=2)}catch(a){e=a}}throw Se=0,e}},yt=0,rr=function(e){return e!=null&&e.
constructor===pe},Oe.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=ie({},this.state)),typeof e=="function"&&(e=e(ie({},n),this.props)),
e&&(ie(n,e),this.__v&&(t&&this.__k.push(t),bt(this)))},Oe.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),bt(this))},Oe.prototype.render=
$,te=[],Se=0,Et=function(e,t){return e.__v.__b-t.__v.__b},xe=Symbol(),kt=/(PointerCapture)$|Capture$/i,Be=0,qe={},or=0;var _e,H,ze,Tt,Ge=Object.is,Ie=0,qt=[],Ke=[],A=T,Mt=A.__b,Pt=A.__r,Lt=A.diffed,Rt=A.__c,Dt=A.unmount,Ft=A.__;function Je(e,t){A.__h&&A.__h(H,e,Ie||t),Ie=0;var n=H.
__H||(H.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function B(e){return Ie=1,hr(Vt,e)}function hr(e,t,n){var r=Je(_e++,2);if(r.t=e,!r.__c&&
(r.__=[n?n(t):Vt(void 0,t),function(i){var s=(r.__N||r.__)[0],a=r.t(s,i);Ge(s,a)||(r.__N=[a,r.__[1]],r.__c.setState({}))}],r.__c=H,!H.__f)){H.__f=!0;var o=H.shouldComponentUpdate;
H.shouldComponentUpdate=function(i,s,a){var u=this.__H;if(!u)return!0;var d=!1,l=this.props!=i;if(u.__.some(function(p){p.__N&&(d=!0,Ge(p.__[0],p.__N[0])||(l=!0))}),
o){var f=o.call(this,i,s,a);return d?f||l:f}return!d||l}}return r.__}function G(e,t){var n=Je(_e++,3);!A.__s&&Bt(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,H.__H.__h.push(
n))}function me(e){return Ie=5,Te(function(){return{current:e}},[])}function Te(e,t){var n=Je(_e++,7);return Bt(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function fr(){var e;do{for(;e=Ke.shift();)try{ge(e)}catch(n){A.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=qt.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(ge),t.__h.
some(Xe),t.__h=[]}catch(n){t.__h=[],A.__e(n,e.__v)}}}while(Ke.length)}A.__b=function(e){H=null,Mt&&Mt(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),
Ft&&Ft(e,t)},A.__r=function(e){Pt&&Pt(e),_e=0;var t=(H=e.__c).__H;t&&(ze==H?H.__h=[]:(t.__h.some(ge),t.__h.some(Xe),_e=0),t.__h=[],t.__.some(function(n){n.__N&&
(n.__=n.__N),n.u=n.__N=void 0})),ze=H},A.diffed=function(e){Lt&&Lt(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Ht(qt.push(t)),t.__H.__.some(function(n){n.u&&(n.
__H=n.u)})),ze=H=null},A.__c=function(e,t){t.some(function(n){try{n.__h.some(ge),n.__h=n.__h.filter(function(r){return!r.__||Xe(r)})}catch(r){n.__h=[function(){
throw r}]}}),Rt&&Rt(e,t)},A.unmount=function(e){Dt&&Dt(e);var t,n,r=e.__c;r&&r.__H&&(r.__H.__.some(function(o){try{if(o.__P&&o.__c){if(n===void 0){for(n=e.__;n&&
(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}o.__P=n,Ht(Ke.push(o))}else ge(o)}catch(i){t=i}}),r.__H=void 0,t&&A.__e(t,r.__v))};var At=typeof requestAnimationFrame==
"function";function pr(e){var t,n=function(){clearTimeout(r),At&&cancelAnimationFrame(t),setTimeout(e)},r=setTimeout(n,35);At&&(t=requestAnimationFrame(n))}function Ht(e){
e!=1&&Tt==A.requestAnimationFrame||((Tt=A.requestAnimationFrame)||pr)(fr)}function ge(e){var t=H,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),H=t}function Xe(e){
var t=H;e.__c=e.__(),H=t}function Bt(e,t){return!e||e.length!=t.length||t.some(function(n,r){return!Ge(n,e[r])})}function Vt(e,t){return typeof t=="function"?t(
e):t}var gr=1e3,_r=25e3,Wt=document.getElementById("snapshot"),D=Wt?JSON.parse(Wt.textContent??"null"):null,I={overview:null,services:new Map,sorted:[],log:[],connected:!1,
opened:Date.now(),version:0},Ze=new Set,Qe=!1;function et(){I.version++,!Qe&&(Qe=!0,requestAnimationFrame(()=>{Qe=!1;for(let e of Ze)e()}))}function V(){let[,e]=B(
0);return G(()=>{let t=()=>e(n=>n+1);return Ze.add(t),()=>{Ze.delete(t)}},[]),I}function K(e,t,n=!1){I.log.unshift({at:Date.now(),about:e,text:t,worse:n}),I.log.
length=Math.min(I.log.length,gr)}function mr(e,t,n){let r=[["exports","export"],["imports","import"]];for(let[i,s]of r){let a=t?.[i]??{},u=n?.[i]??{};for(let d of new Set(
[...Object.keys(a),...Object.keys(u)])){let l=a[d],f=u[d];f?l?l.s!==f.s?K(e,`${s} in ${d}: ${l.s} \u2192 ${f.s}`,f.p==="error"):((l.r??0)!==(f.r??0)||(l.b??0)!==
(f.b??0))&&K(e,`${d}: ${Ut(l)} \u2192 ${Ut(f)}`,(f.r??0)===0):K(e,`new ${s} in ${d}: ${f.s}`,f.p==="error"):K(e,`${s} in ${d} is gone`,!0)}}let o=[t?.conflicts?.
length??0,n?.conflicts?.length??0];o[0]!==o[1]&&K(e,`${o[0]} \u2192 ${o[1]} conflicts`,o[1]>o[0])}function Ut(e){return`${e.r??0} of ${e.n??0} endpoints ready`+
(e.b?`, ${e.b} on standby`:"")}function vr(e,t){let n=new Map(e.clusters.map(r=>[r.id,r]));for(let r of t.clusters){let o=n.get(r.id);n.delete(r.id),o?(!o.error!=
!r.error&&K(r.id,r.error?`does not answer: ${r.error}`:"answers again",!!r.error),o.member?.state!==r.member?.state&&K(r.id,`${o.member?.state??"\u2013"} \u2192 ${r.
member?.state??"\u2013"}`,r.member?.state!=="Ready"),(o.member?.drained??"")!==(r.member?.drained??"")&&K(r.id,r.member?.drained?`drained: ${r.member.drained}`:
"no longer drained")):K(r.id,"new cluster")}for(let r of n.keys())K(r,"cluster is gone",!0)}function Yt(e){let t=!I.overview;e.overview&&(I.overview&&!e.all&&vr(
I.overview,e.overview),I.overview=e.overview);let n=!1;if(e.all){n=!0;for(let r of I.services.keys())e.services?.[r]||I.services.delete(r)}for(let[r,o]of Object.
entries(e.services??{})){let i=I.services.get(r);!t&&Date.now()-I.opened>3e3&&mr(r,i,o),o?(n||=!i,I.services.set(r,o)):n=I.services.delete(r)||n}n?I.sorted=[...I.
services.values()].sort((r,o)=>r.id<o.id?-1:1):e.services&&(I.sorted=I.sorted.map(r=>I.services.get(r.id)??r)),et()}function zt(){if(D){I.connected=!0,Yt(D);return}
let e,t=Date.now(),n=o=>{I.connected!==o&&(I.connected=o,et())},r=()=>{t=Date.now(),e=new EventSource("/api/live"),e.onmessage=o=>{t=Date.now(),n(!0),Yt(JSON.parse(
o.data))},e.addEventListener("alive",()=>t=Date.now()),e.onerror=()=>n(!1)};r(),setInterval(()=>{Date.now()-t>_r&&(n(!1),e.close(),r()),et()},5e3)}async function se(e,t,n){
let r=await fetch(`/api/${e}?${new URLSearchParams(t)}`,{signal:n});if(!r.ok)throw new Error((await r.text()).trim());return r.json()}function ae(e,t,n,r){let[o,
i]=B({loading:!0,of:e,at:0}),[s,a]=B(0);return G(()=>{let u=new AbortController;return i(d=>d.of===e?{...d,loading:!0}:{of:e,loading:!0,at:0}),r(u.signal).then(
d=>i({value:d,loading:!1,of:e,at:Date.now()}),d=>u.signal.aborted||i({error:String(d.message??d),loading:!1,of:e,at:Date.now()})),()=>u.abort()},[e,t,s]),G(()=>{
if(D)return;let u=setInterval(()=>document.visibilityState==="visible"&&a(d=>d+1),n*1e3);return()=>clearInterval(u)},[n]),o.of===e?o:{loading:!0,at:0}}function Q(e){
return e.clusters.filter(t=>!t.outside)}function ve(e){return Q(e).filter(t=>t.context!==void 0&&t.state!=="unread")}function q(e){return e.state==="unread"?e.context?
"not read":"not read: no context is its own":e.state==="reading"?"reading":e.error?`does not answer, last ${Z(e.answered)}`:e.unread?.length?"not all can be rea\
d":""}function Z(e){return e?br(((D?.overview?.at??Date.now())-e)/1e3)+" ago":"never"}function br(e){let t=Math.max(0,Math.round(e));return t<120?`${t} s`:t<7200?
`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var wr=Symbol.for("pv"),yr=0;function c(e,t,n,r,o,i){t||(t={});var s,a,u=t;if("ref"in u&&typeof e!="function")for(a in u={},t)a=="ref"?s=t[a]:u[a]=t[a];var d={type:e,props:u,key:n,ref:s,__k:null,
__:null,__b:0,__e:null,__c:null,constructor:wr,__v:--yr,__i:-1,__u:0};return(o||i)&&(d.__source=o,d.__self=i),T.vnode&&T.vnode(d),d}function tt(){let[e="",t=""]=location.hash.replace(/^#\/?/,"").split("?"),[n="",...r]=e.split("/").map(decodeURIComponent);return{page:n||"clusters",rest:r,query:new URLSearchParams(
t)}}function U(){let[e,t]=B(tt);return G(()=>{let n=()=>t(tt());return addEventListener("hashchange",n),()=>removeEventListener("hashchange",n)},[]),e}function Y(e){
let{query:t}=tt();for(let[r,o]of Object.entries(e))o?t.set(r,o):t.delete(r);let n=t.toString();history.replaceState(null,"",location.hash.split("?")[0]+(n?`?${n}`:
"")),dispatchEvent(new HashChangeEvent("hashchange"))}function ce(e){return`#/service/${e}`}var Er={error:"\xD7",warning:"\u203C",pending:"\u2026",ok:"\u221A",skipped:"\
\u2013"};function be({of:e}){return c("span",{class:`mark ${e}`,role:"img","aria-label":e,children:Er[e]})}function Me({all:e}){return e?.length?c("ul",{class:"\
findings",children:e.map(t=>c("li",{children:[c(be,{of:t.severity})," ",c("strong",{children:t.about}),": ",t.message,t.do&&c(re,{text:t.do})]}))}):c("p",{class:"\
good",children:"No problems."})}function re({text:e}){let[t,n]=B(!1);return c("span",{class:"copy",children:[c("code",{children:e}),c("button",{type:"button",onClick:async()=>{
try{await navigator.clipboard.writeText(e),n(!0),setTimeout(()=>n(!1),1500)}catch{n(!1)}},"aria-label":`Copy: ${e}`,children:t?"copied":"copy"})]})}function F({
children:e}){return c("p",{class:"notice",role:"status",children:e})}function ee(e){return c("div",{class:"scroll",tabIndex:0,role:"region","aria-label":e.label,
children:[c("table",{class:e.class,children:[c("thead",{children:c("tr",{children:e.heads.map(t=>c("th",{scope:"col",children:t}))})}),c("tbody",{children:e.children})]}),
e.note&&c("p",{class:"small",children:e.note})]})}function Pe(e){return Object.entries(e.others??{}).map(([t,n])=>`${t}: ${n}`).join(", ")}function nt({what:e}){
return D?c(F,{children:[e," are not in a snapshot."]}):null}function X({label:e,value:t,of:n,onChange:r}){return c("label",{children:[e," ",c("select",{value:t,
onChange:o=>r(o.currentTarget.value),children:n.map(([o,i])=>c("option",{value:o,selected:o===t,children:i}))})]})}function W({children:e}){let t=me(null);return G(
()=>{document.title=`${t.current?.textContent} \u2013 Atoll`,(document.activeElement===document.body||document.activeElement?.closest("nav"))&&t.current?.focus(
{preventScroll:!0})},[String(e)]),c("h1",{tabIndex:-1,ref:t,children:e})}function Gt(){let{overview:e}=V(),{query:t}=U();if(!e)return c(F,{children:"Reading the clusters."});let n=e.clusters.find(r=>r.id===t.get("cluster"));return c(
$,{children:[c(W,{children:"Clusters"}),c(ot,{}),c("ul",{class:"cards",children:e.clusters.map(r=>c("li",{class:`card ${q(r)?"stale":""} ${kr(r)}`,children:c(xr,
{c:r})}))}),n&&c(Nr,{cluster:n}),c("h2",{children:"Who reaches whom"}),c(Cr,{clusters:Q(e)})]})}function ot(){let{broker:e}=I.overview;return e.read&&!e.error?c(
"p",{children:["Broker: ",e.server]}):c(F,{children:["The broker ",e.read?`does not answer, last ${Z(e.answered)}`:"cannot be read",": ",e.error||"connecting","\
. Without it, conflicts, heartbeats and the exports of clusters that are not read are unknown or old."]})}function kr(e){return e.member?.state==="Silent"?"bad":
e.member?.drained||e.unread?.length?"warn":""}function xr({c:e}){let t=e.member,{broker:n}=I.overview,r=n.read&&!n.error,o=[...I.services.values()].filter(s=>s.
exports?.[e.id]?.p==="error"||s.imports?.[e.id]?.p==="error").length,i=[["State",e.outside?"not a member":r?t?t.state:"not on the broker":`unknown${t?`, last ${t.
state}`:""}`],["Heartbeat",t?.heartbeatSeconds===void 0?void 0:Z(I.overview.at-1e3*t.heartbeatSeconds)],["Kubernetes",t?.kubernetes],["Agent",t?.agent],["Reache\
d by",t?.advertises],["Region",t?.region],["Drained",t?.drained],["Exports",t&&String(t.exports)],["May export",t&&!t.namespaces.includes("*")?t.namespaces.join(
", ")||"nothing":void 0],["Ranges",t?.allowedRanges?.join(", ")],["Over budget of",t?.overBudgetOf?.join(", ")]];return c($,{children:[c("h2",{children:[c("a",{
href:`#/clusters?cluster=${encodeURIComponent(e.id)}`,children:e.id}),q(e)&&c("span",{class:"tag",children:q(e)}),t?.drained&&c("span",{class:"tag",children:"dr\
ained"})]}),c("dl",{children:i.map(([s,a])=>a&&c($,{children:[c("dt",{children:s}),c("dd",{children:a})]}))}),o>0&&c("p",{children:c("a",{href:`#/services?state\
=problem&cluster=${encodeURIComponent(e.id)}`,children:[o," services with errors"]})}),e.error&&e.context&&c("p",{class:"small",children:e.error}),e.unread?.map(
s=>c("p",{class:"small",children:s}))]})}function Nr({cluster:e}){let t=ae(e.id,q(e),15,async r=>{if(!D)return se("status",{cluster:e.id},r);let o=D.status[e.id];
if(!o)throw new Error(D.errors[e.id]??"not in the snapshot");return o}),n=t.value;return c("section",{"aria-labelledby":"status",children:[c("h2",{id:"status",children:[
"Status of ",e.id]}),t.loading&&c(F,{children:["Reading ",e.id,"."]}),t.error&&c(F,{children:t.error}),n&&c($,{children:[!D&&c("p",{class:"small",children:["rea\
d ",Z(t.at)]}),c("p",{children:[n.components.map(r=>`${r.name}: ${r.ready} of ${r.wanted} ready`).join("; ")||"No component of Atoll.",n.dns?.length?`; DNS: ${n.
dns.join(", ")}`:""]}),c(Me,{all:n.findings})]}),e.on!==void 0&&e.context&&c(re,{text:`atoll status${e.on}`})]})}var rt={yes:["\u25CF","reached, as far as is kn\
own"],silent:["\u25D0","its endpoints do not answer; they are on standby"],withdrawn:["\xD7","unreachable: its endpoints are withdrawn"],unproven:["\u25CB","non\
e of its endpoints has ever answered"],unknown:["?","unknown"],self:["\xB7",""]};function Or(e,t){return e.id===t.id?"self":e.state!=="read"||e.error||!e.knowsLost||
e.member?.state!=="Ready"?"unknown":e.withdrawn?.[t.id]?"withdrawn":e.silent?.[t.id]?"silent":e.unproven?.[t.id]?"unproven":"yes"}function Cr({clusters:e}){return c(
ee,{label:"Who reaches whom",class:"reach",heads:["from \\ to",...e.map(t=>t.id)],note:["yes","silent","withdrawn","unproven","unknown"].map(t=>c("span",{class:"\
legend",children:[rt[t][0]," ",rt[t][1]]})),children:e.map(t=>c("tr",{class:q(t)?"stale":"",children:[c("th",{scope:"row",children:t.id}),e.map(n=>{let r=Or(t,n),
[o,i]=rt[r];return c("td",{class:r,title:i&&`${t.id} \u2192 ${n.id}: ${i}`,children:[c("span",{"aria-hidden":"true",children:o}),c("span",{class:"hidden",children:i})]})})]}))})}function Xt(){let{overview:e,sorted:t}=V(),{query:n}=U(),r=n.get("q")??"";if(!e)return c(F,{children:"Reading the clusters."});let o=t.filter(i=>i.id.includes(r)).
flatMap(i=>(i.conflicts??[]).map(s=>({id:i.id,...s})));return c($,{children:[c(W,{children:"Conflicts"}),c("p",{children:"Exports of one service that differ. Th\
e oldest export decides (KEP-1645)."}),(!e.broker.read||e.broker.error)&&c(ot,{}),c("form",{class:"filter",role:"search",onSubmit:i=>i.preventDefault(),children:[
c("label",{children:["Filter ",c("input",{type:"search",value:r,onInput:i=>Y({q:i.currentTarget.value})})]}),c("output",{"aria-live":"polite",children:o.length})]}),
e.broker.read&&!e.broker.error&&o.length===0&&c("p",{class:"good",children:"No conflicts."}),o.length>0&&c(ee,{label:"Conflicts",heads:["Service","Property","In\
 use","From","Others want"],note:o.length>500&&"The first 500.",children:o.slice(0,500).map(i=>c("tr",{children:[c("th",{scope:"row",children:c("a",{href:ce(i.id),
children:i.id})}),c("td",{children:i.property}),c("td",{children:i.using}),c("td",{children:i.from}),c("td",{children:Pe(i)})]}))})]})}var Kt=["error","warning",
"skipped","ok"];function Jt(){let{overview:e}=V(),[t,n]=B("");if(!e)return c(F,{children:"Reading the clusters."});let{checks:r}=e,o=async()=>{let a=await fetch(
"/api/checks",{method:"POST"});n(a.ok?"":await a.text())},i=[...r.results??[]].sort((a,u)=>Kt.indexOf(a.status)-Kt.indexOf(u.status)),s=a=>i.filter(u=>u.status===
a).length;return c($,{children:[c(W,{children:"Checks"}),c(nt,{what:"Runs of checks"}),c("p",{children:["The checks that need no test pods: a console creates no\
thing. ",r.command&&c($,{children:"All checks: "})]}),r.command&&c(re,{text:r.command}),!D&&c("p",{children:[c("button",{type:"button",onClick:o,disabled:r.running,
children:r.running?"Running":"Run the checks"})," ",r.running&&c("progress",{max:r.of,value:r.read,"aria-label":"Clusters read"})]}),(t||r.error)&&c(F,{children:t||
r.error}),i.length>0&&c("p",{role:"status",children:[s("error")," errors, ",s("warning")," warnings, ",s("skipped")," skipped, ",s("ok")," passed",r.ended?`, ${Z(
r.ended)}`:""]}),c("ul",{class:"findings",children:i.map(a=>c("li",{children:[c(be,{of:a.status})," ",c("strong",{children:[a.cluster,a.from&&`${a.from} \u2192 ${a.
to}`].filter(Boolean).join(" ")})," ",a.id," ",a.title,a.message&&a.status!=="ok"?`: ${a.message}`:"",a.hint&&c(re,{text:a.hint})]}))})]})}function Qt(){let{log:e,
overview:t}=V(),{query:n}=U();if(!t)return c(F,{children:"Reading the clusters."});let r=ve(t),o=n.get("cluster")||r[0]?.id||"";return c($,{children:[c(W,{children:"\
Events"}),!D&&c($,{children:[c("h2",{children:"Changed since the page was opened"}),e.length===0&&c("p",{children:"Nothing yet."}),c("ol",{class:"log","aria-liv\
e":"polite",children:e.slice(0,300).map(i=>c("li",{class:i.worse?"worse":"",children:[c("time",{children:new Date(i.at).toLocaleTimeString()})," ",i.about.includes(
"/")?c("a",{href:ce(i.about),children:i.about}):c("strong",{children:i.about})," ",i.text]}))})]}),c("h2",{children:c(X,{label:"Events of",value:o,of:r.map(i=>[
i.id,i.id]),onChange:i=>Y({cluster:i})})}),c(Sr,{cluster:o})]})}function Sr({cluster:e}){let t=ae(e,"",15,async n=>{if(!D)return se("events",{cluster:e},n);let r=D.
events[e];if(!r)throw new Error(D.errors[e]??"not in the snapshot");return r});return c("section",{"aria-busy":t.loading,children:[t.error&&c(F,{children:t.error}),
t.value?.length===0&&c("p",{children:"Atoll has no Events there."}),c("ol",{class:"log",children:(t.value??[]).slice(0,300).map(n=>c("li",{class:n.type==="Warni\
ng"?"worse":"",children:[c("time",{dateTime:n.at,children:new Date(n.at).toLocaleString()})," ",c("strong",{children:n.about})," ",n.reason,": ",n.message]}))})]})}
function Zt(){let{overview:e}=V(),{query:t}=U();if(!e)return c(F,{children:"Reading the clusters."});let n=t.get("without")??"",r=ve(e),o=t.get("cluster")||r.find(
i=>i.id!==n)?.id||"";return c($,{children:[c(W,{children:"What if"}),c("p",{children:"Who would serve each service without a cluster, as of now."}),c(nt,{what:"\
Predictions"}),!D&&c($,{children:[c("form",{class:"filter",onSubmit:i=>i.preventDefault(),children:[c(X,{label:"Without",value:n,of:[["","choose a cluster"],...Q(
e).map(i=>[i.id,i.id])],onChange:i=>Y({without:i})}),c(X,{label:"As seen from",value:o,of:r.map(i=>[i.id,i.id]),onChange:i=>Y({cluster:i})})]}),n&&c(jr,{without:n,
cluster:o})]})]})}function jr({without:e,cluster:t}){let n=ae(`${e} ${t}`,"",60,i=>se("without",{without:e,cluster:t},i));if(n.loading&&!n.value)return c(F,{children:[
"Reading ",t,"."]});if(n.error)return c(F,{children:n.error});let r=(n.value??[]).flatMap(i=>(i.ports?.length?i.ports:[{family:"no endpoint now",served:!1}]).map(
s=>({id:$r(i.name),port:s}))).sort((i,s)=>Number(i.port.served)-Number(s.port.served)||(i.id<s.id?-1:1)),o=r.filter(i=>!i.port.served).length;return c($,{children:[
c("p",{role:"status",class:o?"bad":"good",children:["Without ",e,", ",o?`${o} of ${r.length} ports would not be served`:`all ${r.length} ports would be served`,
" in ",t,"."]}),c(ee,{label:"Predictions",heads:["Service","Port","Served","By"],note:r.length>1e3&&"The first 1000.",children:r.slice(0,1e3).map(i=>c("tr",{class:i.
port.served?"":"error",children:[c("th",{scope:"row",children:c("a",{href:ce(i.id),children:i.id})}),c("td",{children:[i.port.port," ",i.port.family]}),c("td",{
children:i.port.served?"yes":"no"}),c("td",{children:(i.port.clusters??[]).map(s=>`${s.cluster}: ${s.role} (${s.reason})${s.active?` ${s.sharePercent}%`:""}`).join(
", ")})]}))})]})}function $r(e){let[t,n]=e.split(".svc.")[0].split(/\.(?=[^.]*$)/);return`${n}/${t}`}var yn=Object.defineProperty,Ir=(e,t,n)=>t in e?yn(e,t,{enumerable:!0,configurable:!0,writable:!0,value:n}):e[t]=n,Tr=(e,t)=>{for(var n in t)yn(e,n,{get:t[n],enumerable:!0})},
Mr=(e,t,n)=>Ir(e,typeof t!="symbol"?t+"":t,n),En={};Tr(En,{Graph:()=>z,alg:()=>ft});var Pr=Object.defineProperty,kn=(e,t)=>{for(var n in t)Pr(e,n,{get:t[n],enumerable:!0})},
ht=class{constructor(e){this._isDirected=!0,this._isMultigraph=!1,this._isCompound=!1,this._nodes={},this._in={},this._preds={},this._out={},this._sucs={},this.
_edgeObjs={},this._edgeLabels={},this._nodeCount=0,this._edgeCount=0,this._defaultNodeLabelFn=()=>{},this._defaultEdgeLabelFn=()=>{},e&&(this._isDirected="direc\
ted"in e?e.directed:!0,this._isMultigraph="multigraph"in e?e.multigraph:!1,this._isCompound="compound"in e?e.compound:!1),this._isCompound&&(this._parent={},this.
_children={},this._children["\0"]={})}isDirected(){return this._isDirected}isMultigraph(){return this._isMultigraph}isCompound(){return this._isCompound}setGraph(e){
return this._label=e,this}graph(){return this._label}setDefaultNodeLabel(e){return typeof e!="function"?this._defaultNodeLabelFn=()=>e:this._defaultNodeLabelFn=
e,this}nodeCount(){return this._nodeCount}nodes(){return Object.keys(this._nodes)}sources(){return this.nodes().filter(e=>Object.keys(this._in[e]).length===0)}sinks(){
return this.nodes().filter(e=>Object.keys(this._out[e]).length===0)}setNodes(e,t){return e.forEach(n=>{t!==void 0?this.setNode(n,t):this.setNode(n)}),this}setNode(e,t){
return e in this._nodes?(arguments.length>1&&(this._nodes[e]=t),this):(this._nodes[e]=arguments.length>1?t:this._defaultNodeLabelFn(e),this._isCompound&&(this._parent[e]=
"\0",this._children[e]={},this._children["\0"][e]=!0),this._in[e]={},this._preds[e]={},this._out[e]={},this._sucs[e]={},++this._nodeCount,this)}node(e){return this.
_nodes[e]}hasNode(e){return e in this._nodes}removeNode(e){if(e in this._nodes){let t=n=>this.removeEdge(this._edgeObjs[n]);delete this._nodes[e],this._isCompound&&
(this._removeFromParentsChildList(e),delete this._parent[e],this.children(e).forEach(n=>{this.setParent(n)}),delete this._children[e]),Object.keys(this._in[e]).
forEach(t),delete this._in[e],delete this._preds[e],Object.keys(this._out[e]).forEach(t),delete this._out[e],delete this._sucs[e],--this._nodeCount}return this}setParent(e,t){
if(!this._isCompound)throw new Error("Cannot set parent in a non-compound graph");if(t===void 0)t="\0";else{t+="";for(let n=t;n!==void 0;n=this.parent(n))if(n===
e)throw new Error("Setting "+t+" as parent of "+e+" would create a cycle");this.setNode(t)}return this.setNode(e),this._removeFromParentsChildList(e),this._parent[e]=
t,this._children[t][e]=!0,this}parent(e){if(this._isCompound){let t=this._parent[e];if(t!=="\0")return t}}children(e="\0"){if(this._isCompound){let t=this._children[e];
if(t)return Object.keys(t)}else{if(e==="\0")return this.nodes();if(this.hasNode(e))return[]}return[]}predecessors(e){let t=this._preds[e];if(t)return Object.keys(
t)}successors(e){let t=this._sucs[e];if(t)return Object.keys(t)}neighbors(e){let t=this.predecessors(e);if(t){let n=new Set(t),r=this.successors(e);if(r)for(let o of r)
n.add(o);return Array.from(n.values())}}isLeaf(e){var t;let n;return this.isDirected()?n=this.successors(e):n=this.neighbors(e),((t=n?.length)!=null?t:0)===0}filterNodes(e){
let t=new this.constructor({directed:this._isDirected,multigraph:this._isMultigraph,compound:this._isCompound});t.setGraph(this.graph()),Object.entries(this._nodes).
forEach(([o,i])=>{e(o)&&t.setNode(o,i)}),Object.values(this._edgeObjs).forEach(o=>{t.hasNode(o.v)&&t.hasNode(o.w)&&t.setEdge(o,this.edge(o))});let n={},r=o=>{let i=this.
parent(o);return!i||t.hasNode(i)?(n[o]=i,i):i in n?n[i]:r(i)};return this._isCompound&&t.nodes().forEach(o=>t.setParent(o,r(o))),t}setDefaultEdgeLabel(e){return typeof e!=
"function"?this._defaultEdgeLabelFn=()=>e:this._defaultEdgeLabelFn=e,this}edgeCount(){return this._edgeCount}edges(){return Object.values(this._edgeObjs)}setPath(e,t){
return e.reduce((n,r)=>(t!==void 0?this.setEdge(n,r,t):this.setEdge(n,r),r)),this}setEdge(e,t,n,r){let o,i,s,a,u=!1;typeof e=="object"&&e!==null&&"v"in e?(o=e.v,
i=e.w,s=e.name,arguments.length===2&&(a=t,u=!0)):(o=e,i=t,s=r,arguments.length>2&&(a=n,u=!0)),o=""+o,i=""+i,s!==void 0&&(s=""+s);let d=we(this._isDirected,o,i,s);
if(d in this._edgeLabels)return u&&(this._edgeLabels[d]=a),this;if(s!==void 0&&!this._isMultigraph)throw new Error("Cannot set a named edge when isMultigraph = \
false");this.setNode(o),this.setNode(i),this._edgeLabels[d]=u?a:this._defaultEdgeLabelFn(o,i,s);let l=Lr(this._isDirected,o,i,s);return o=l.v,i=l.w,Object.freeze(
l),this._edgeObjs[d]=l,en(this._preds[i],o),en(this._sucs[o],i),this._in[i][d]=l,this._out[o][d]=l,this._edgeCount++,this}edge(e,t,n){let r=arguments.length===1?
it(this._isDirected,e):we(this._isDirected,e,t,n);return this._edgeLabels[r]}edgeAsObj(e,t,n){let r=arguments.length===1?this.edge(e):this.edge(e,t,n);return typeof r!=
"object"||r===null?{label:r}:r}hasEdge(e,t,n){return(arguments.length===1?it(this._isDirected,e):we(this._isDirected,e,t,n))in this._edgeLabels}removeEdge(e,t,n){
let r=arguments.length===1?it(this._isDirected,e):we(this._isDirected,e,t,n),o=this._edgeObjs[r];if(o){let i=o.v,s=o.w;delete this._edgeLabels[r],delete this._edgeObjs[r],
tn(this._preds[s],i),tn(this._sucs[i],s),delete this._in[s][r],delete this._out[i][r],this._edgeCount--}return this}inEdges(e,t){return this.isDirected()?this.filterEdges(
this._in[e],e,t):this.nodeEdges(e,t)}outEdges(e,t){return this.isDirected()?this.filterEdges(this._out[e],e,t):this.nodeEdges(e,t)}nodeEdges(e,t){if(e in this._nodes)
return this.filterEdges({...this._in[e],...this._out[e]},e,t)}_removeFromParentsChildList(e){delete this._children[this._parent[e]][e]}filterEdges(e,t,n){if(!e)
return;let r=Object.values(e);return n?r.filter(o=>o.v===t&&o.w===n||o.v===n&&o.w===t):r}};function en(e,t){e[t]?e[t]++:e[t]=1}function tn(e,t){e[t]!==void 0&&!--e[t]&&
delete e[t]}function we(e,t,n,r){let o=""+t,i=""+n;if(!e&&o>i){let s=o;o=i,i=s}return o+""+i+""+(r===void 0?"\0":r)}function Lr(e,t,n,r){let o=""+t,i=""+n;if(!e&&
o>i){let a=o;o=i,i=a}let s={v:o,w:i};return r&&(s.name=r),s}function it(e,t){return we(e,t.v,t.w,t.name)}var Rr={};kn(Rr,{read:()=>Hr,write:()=>Dr});function Dr(e){
let t={options:{directed:e.isDirected(),multigraph:e.isMultigraph(),compound:e.isCompound()},nodes:Fr(e),edges:Ar(e)},n=e.graph();return n!==void 0&&(t.value=structuredClone(
n)),t}function Fr(e){return e.nodes().map(t=>{let n=e.node(t),r=e.parent(t),o={v:t};return n!==void 0&&(o.value=n),r!==void 0&&(o.parent=r),o})}function Ar(e){return e.
edges().map(t=>{let n=e.edge(t),r={v:t.v,w:t.w};return t.name!==void 0&&(r.name=t.name),n!==void 0&&(r.value=n),r})}function Hr(e){let t=new ht(e.options);return e.
value!==void 0&&t.setGraph(e.value),e.nodes.forEach(n=>{t.setNode(n.v,n.value),n.parent&&t.setParent(n.v,n.parent)}),e.edges.forEach(n=>{t.setEdge({v:n.v,w:n.w,
name:n.name},n.value)}),t}var ft={};kn(ft,{CycleException:()=>Re,bellmanFord:()=>xn,components:()=>Vr,dijkstra:()=>Le,dijkstraAll:()=>Yr,findCycles:()=>zr,floydWarshall:()=>Kr,
isAcyclic:()=>Jr,postorder:()=>Zr,preorder:()=>eo,prim:()=>to,shortestPaths:()=>no,tarjan:()=>On,topsort:()=>Cn});var qr=()=>1;function xn(e,t,n,r){return Br(e,
String(t),n||qr,r||function(o){var i;return(i=e.outEdges(o))!=null?i:[]})}function Br(e,t,n,r){let o={},i,s=0,a=e.nodes(),u=function(f){let p=o[f.v],h=o[f.w];if(!p||
!h)return;let _=n(f);p.distance+_<h.distance&&(o[f.w]={distance:p.distance+_,predecessor:f.v},i=!0)},d=function(){a.forEach(function(f){r(f).forEach(function(p){
let h=p.v===f?p.v:p.w,_=h===p.v?p.w:p.v;u({v:h,w:_})})})};a.forEach(function(f){let p=f===t?0:Number.POSITIVE_INFINITY;o[f]={distance:p,predecessor:""}});let l=a.
length;for(let f=1;f<l&&(i=!1,s++,d(),!!i);f++);if(s===l-1&&(i=!1,d(),i))throw new Error("The graph contains a negative weight cycle");return o}function Vr(e){let t={},
n=[],r;function o(i){var s,a;i in t||(t[i]=!0,r.push(i),(s=e.successors(i))==null||s.forEach(o),(a=e.predecessors(i))==null||a.forEach(o))}return e.nodes().forEach(
function(i){r=[],o(i),r.length&&n.push(r)}),n}var Nn=class{constructor(){this._arr=[],this._keyIndices={}}size(){return this._arr.length}keys(){return this._arr.
map(e=>e.key)}has(e){return e in this._keyIndices}priority(e){let t=this._keyIndices[e];if(t!==void 0)return this._arr[t].priority}min(){if(this.size()===0)throw new Error(
"Queue underflow");return this._arr[0].key}add(e,t){let n=this._keyIndices,r=String(e);if(!(r in n)){let o=this._arr,i=o.length;return n[r]=i,o.push({key:r,priority:t}),
this._decrease(i),!0}return!1}removeMin(){if(this.size()===0)throw new Error("Queue underflow");this._swap(0,this._arr.length-1);let e=this._arr.pop();return delete this.
_keyIndices[e.key],this._heapify(0),e.key}decrease(e,t){let n=this._keyIndices[e];if(n===void 0)throw new Error(`Key not found: ${e}`);let r=this._arr[n].priority;
if(t>r)throw new Error(`New priority is greater than current priority. Key: ${e} Old: ${r} New: ${t}`);this._arr[n].priority=t,this._decrease(n)}_heapify(e){let t=this.
_arr,n=2*e,r=n+1,o=e;n<t.length&&(o=t[n].priority<t[o].priority?n:o,r<t.length&&(o=t[r].priority<t[o].priority?r:o),o!==e&&(this._swap(e,o),this._heapify(o)))}_decrease(e){
let t=this._arr,n=t[e].priority,r;for(;e!==0&&(r=e>>1,!(t[r].priority<n));)this._swap(e,r),e=r}_swap(e,t){let n=this._arr,r=this._keyIndices,o=n[e],i=n[t];n[e]=
i,n[t]=o,r[i.key]=e,r[o.key]=t}},Wr=()=>1;function Le(e,t,n,r){let o=function(i){var s;return(s=e.outEdges(i))!=null?s:[]};return Ur(e,String(t),n||Wr,r||o)}function Ur(e,t,n,r){
let o={},i=new Nn,s,a,u=function(d){let l=d.v!==s?d.v:d.w,f=o[l];if(!f)return;let p=n(d),h=a.distance+p;if(p<0)throw new Error("dijkstra does not allow negative\
 edge weights. Bad edge: "+d+" Weight: "+p);h<f.distance&&(f.distance=h,f.predecessor=s,i.decrease(l,h))};for(e.nodes().forEach(function(d){let l=d===t?0:Number.
POSITIVE_INFINITY;o[d]={distance:l,predecessor:""},i.add(d,l)});i.size()>0;){s=i.removeMin();let d=o[s];if(!d||d.distance===Number.POSITIVE_INFINITY)break;a=d,r(
s).forEach(u)}return o}function Yr(e,t,n){return e.nodes().reduce(function(r,o){return r[o]=Le(e,o,t,n),r},{})}function On(e){let t=0,n=[],r={},o=[];function i(s){
var a;let u=r[s]={onStack:!0,lowlink:t,index:t++};if(n.push(s),(a=e.successors(s))==null||a.forEach(function(d){if(d in r){let l=r[d];l!=null&&l.onStack&&(u.lowlink=
Math.min(u.lowlink,l.index))}else{i(d);let l=r[d];l&&(u.lowlink=Math.min(u.lowlink,l.lowlink))}}),u.lowlink===u.index){let d=[],l;do{l=n.pop();let f=r[l];f&&(f.
onStack=!1),d.push(l)}while(s!==l);o.push(d)}}return e.nodes().forEach(function(s){s in r||i(s)}),o}function zr(e){return On(e).filter(function(t){var n;let r=t[0];
return r?t.length>1||t.length===1&&((n=e.outEdges(r,r))!=null?n:[]).length>0:!1})}var Gr=()=>1;function Kr(e,t,n){return Xr(e,t||Gr,n||function(r){var o;return(o=
e.outEdges(r))!=null?o:[]})}function Xr(e,t,n){let r={},o=e.nodes();return o.forEach(function(i){let s={};r[i]=s,s[i]={distance:0,predecessor:""},o.forEach(function(a){
i!==a&&(s[a]={distance:Number.POSITIVE_INFINITY,predecessor:""})}),n(i).forEach(function(a){let u=a.v===i?a.w:a.v,d=t(a);s[u]={distance:d,predecessor:i}})}),o.forEach(
function(i){let s=r[i];s&&o.forEach(function(a){let u=r[a];u&&o.forEach(function(d){let l=u[i],f=s[d],p=u[d];if(l&&f&&p){let h=l.distance+f.distance;h<p.distance&&
(p.distance=h,p.predecessor=f.predecessor)}})})}),r}var Re=class extends Error{constructor(e){super(e),this.name="CycleException"}};function Cn(e){let t={},n={},
r=[];function o(i){var s;if(i in n)throw new Re;i in t||(n[i]=!0,t[i]=!0,(s=e.predecessors(i))==null||s.forEach(o),delete n[i],r.push(i))}if(e.sinks().forEach(o),
Object.keys(t).length!==e.nodeCount())throw new Re;return r}function Jr(e){try{Cn(e)}catch(t){if(t instanceof Re)return!1;throw t}return!0}function Qr(e,t,n,r,o){
Array.isArray(t)||(t=[t]);let i=(a=>{var u;return(u=e.isDirected()?e.successors(a):e.neighbors(a))!=null?u:[]}),s={};return t.forEach(function(a){if(!e.hasNode(
a))throw new Error("Graph does not have node: "+a);o=Sn(e,a,n==="post",s,i,r,o)}),o}function Sn(e,t,n,r,o,i,s){return t in r||(r[t]=!0,n||(s=i(s,t)),o(t).forEach(
function(a){s=Sn(e,a,n,r,o,i,s)}),n&&(s=i(s,t))),s}function jn(e,t,n){return Qr(e,t,n,function(r,o){return r.push(o),r},[])}function Zr(e,t){return jn(e,t,"post")}
function eo(e,t){return jn(e,t,"pre")}function to(e,t){var n;let r=new ht,o={},i=new Nn,s;function a(l){let f=l.v===s?l.w:l.v,p=i.priority(f);if(p!==void 0){let h=t(
l);h<p&&(o[f]=s,i.decrease(f,h))}}if(e.nodeCount()===0)return r;e.nodes().forEach(function(l){i.add(l,Number.POSITIVE_INFINITY),r.setNode(l)});let u=e.nodes()[0];
u!==void 0&&i.decrease(u,0);let d=!1;for(;i.size()>0;){if(s=i.removeMin(),s in o)r.setEdge(s,o[s]);else{if(d)throw new Error("Input graph is not connected: "+e);
d=!0}(n=e.nodeEdges(s))==null||n.forEach(a)}return r}function no(e,t,n,r){return ro(e,t,n,r??(o=>{var i;return(i=e.outEdges(o))!=null?i:[]}))}function ro(e,t,n,r){
if(n===void 0)return Le(e,t,n,r);let o=!1,i=e.nodes();for(let s=0;s<i.length;s++){let a=i[s];if(a===void 0)continue;let u=r(a);for(let d=0;d<u.length;d++){let l=u[d];
if(!l)continue;let f=l.v===a?l.v:l.w,p=f===l.v?l.w:l.v;n({v:f,w:p})<0&&(o=!0)}if(o)return xn(e,t,n,r)}return Le(e,t,n,r)}var z=ht;function fe(e,t,n,r){let o=r;for(;e.
hasNode(o);)o=pt(r);return n.dummy=t,e.setNode(o,n),o}function oo(e){let t=new z().setGraph(e.graph());return e.nodes().forEach(n=>t.setNode(n,e.node(n))),e.edges().
forEach(n=>{let r=t.edge(n.v,n.w)||{weight:0,minlen:1},o=e.edge(n);t.setEdge(n.v,n.w,{weight:r.weight+o.weight,minlen:Math.max(r.minlen,o.minlen)})}),t}function $n(e){
let t=new z({multigraph:e.isMultigraph()}).setGraph(e.graph());return e.nodes().forEach(n=>{e.children(n).length||t.setNode(n,e.node(n))}),e.edges().forEach(n=>{
t.setEdge(n,e.edge(n))}),t}function nn(e,t){let n=e.x,r=e.y,o=t.x-n,i=t.y-r,s=e.width/2,a=e.height/2;if(!o&&!i)throw new Error("Not possible to find intersectio\
n inside of the rectangle");let u,d;return o===0||Math.abs(i)*s>Math.abs(o)*a?(i<0&&(a=-a),u=a*o/i,d=a):(o<0&&(s=-s),u=s,d=s*i/o),{x:n+u,y:r+d}}function Ee(e){let t=ye(
Tn(e)+1).map(()=>[]);return e.nodes().forEach(n=>{let r=e.node(n),o=r.rank;o!==void 0&&(t[o]||(t[o]=[]),t[o][r.order]=n)}),t}function io(e){let t=e.nodes().map(
r=>{let o=e.node(r).rank;return o===void 0?Number.MAX_VALUE:o}),n=J(Math.min,t);e.nodes().forEach(r=>{let o=e.node(r);Object.hasOwn(o,"rank")&&(o.rank-=n)})}function so(e){
let t=e.nodes().map(s=>e.node(s).rank).filter(s=>s!==void 0),n=J(Math.min,t),r=[];e.nodes().forEach(s=>{let a=e.node(s).rank-n;r[a]||(r[a]=[]),r[a].push(s)});let o=0,
i=e.graph().nodeRankFactor;Array.from(r).forEach((s,a)=>{s===void 0&&a%i!==0?--o:s!==void 0&&o&&s.forEach(u=>e.node(u).rank+=o)})}function rn(e,t,n,r){let o={width:0,
height:0};return arguments.length>=4&&(o.rank=n,o.order=r),fe(e,"border",o,t)}function ao(e,t=In){let n=[];for(let r=0;r<e.length;r+=t){let o=e.slice(r,r+t);n.push(
o)}return n}var In=65535;function J(e,t){if(t.length>In){let n=ao(t);return e(...n.map(r=>e(...r)))}else return e(...t)}function Tn(e){let t=e.nodes().map(n=>{let r=e.
node(n).rank;return r===void 0?Number.MIN_VALUE:r});return J(Math.max,t)}function lo(e,t){let n={lhs:[],rhs:[]};return e.forEach(r=>{t(r)?n.lhs.push(r):n.rhs.push(
r)}),n}function uo(e,t){let n=Date.now();try{return t()}finally{console.log(e+" time: "+(Date.now()-n)+"ms")}}function Mn(e,t){return t()}var co=0;function pt(e){
let t=++co;return e+(""+t)}function ye(e,t,n=1){t==null&&(t=e,e=0);let r=i=>i<t;n<0&&(r=i=>t<i);let o=[];for(let i=e;r(i);i+=n)o.push(i);return o}function De(e,t){
let n={};for(let r of t)e[r]!==void 0&&(n[r]=e[r]);return n}function Fe(e,t){let n;return typeof t=="string"?n=r=>r[t]:n=t,Object.entries(e).reduce((r,[o,i])=>(r[o]=
n(i,o),r),{})}function ho(e,t){return e.reduce((n,r,o)=>(n[r]=t[o],n),{})}var Ae="\0";function Pn(e,t,n){var r,o,i,s,a,u;if(!(e&&t&&n&&t.dummy==="edge"&&n.dummy===
"edge"&&t.edgeObj&&n.edgeObj&&e[t.edgeObj.v]&&e[n.edgeObj.v]&&e[t.edgeObj.w]&&e[n.edgeObj.w]))return 0;let d=!0;t.edgeObj.w===n.edgeObj.w&&(d=!1);let l=d?(o=(r=
e[t.edgeObj.v])==null?void 0:r.rank)!=null?o:NaN+1:(s=(i=e[t.edgeObj.w])==null?void 0:i.rank)!=null?s:NaN-1,f=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===t.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===t.edgeObj.w&&w[1].rank===l}),p=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===n.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===n.edgeObj.w&&w[1].rank===l});if(!f||!p)return 0;let h=(a=f[1].order)!=null?a:NaN,
_=(u=p[1].order)!=null?u:NaN;return isNaN(h-_)?0:h-_}var fo="3.1.3",po=class{constructor(){Mr(this,"_sentinel");let e={};e._next=e._prev=e,this._sentinel=e}dequeue(){
let e=this._sentinel,t=e._prev;if(t!==e)return on(t),t}enqueue(e){let t=this._sentinel;e._prev&&e._next&&on(e),e._next=t._next,t._next._prev=e,t._next=e,e._prev=
t}toString(){let e=[],t=this._sentinel,n=t._prev;for(;n!==t;)e.push(JSON.stringify(n,go)),n=n._prev;return"["+e.join(", ")+"]"}};function on(e){e._prev._next=e.
_next,e._next._prev=e._prev,delete e._next,delete e._prev}function go(e,t){if(e!=="_next"&&e!=="_prev")return t}var _o=po,mo=()=>1;function vo(e,t){if(e.nodeCount()<=
1)return[];let n=wo(e,t||mo);return bo(n.graph,n.buckets,n.zeroIdx).flatMap(r=>e.outEdges(r.v,r.w)||[])}function bo(e,t,n){var r;let o=[],i=t[t.length-1],s=t[0],
a;for(;e.nodeCount();){for(;a=s.dequeue();)st(e,t,n,a);for(;a=i.dequeue();)st(e,t,n,a);if(e.nodeCount()){for(let u=t.length-2;u>0;--u)if(a=(r=t[u])==null?void 0:
r.dequeue(),a){o=o.concat(st(e,t,n,a,!0)||[]);break}}}return o}function st(e,t,n,r,o){let i=[],s=o?i:void 0;return(e.inEdges(r.v)||[]).forEach(a=>{let u=e.edge(
a),d=e.node(a.v);o&&i.push({v:a.v,w:a.w}),d.out-=u,ct(t,n,d)}),(e.outEdges(r.v)||[]).forEach(a=>{let u=e.edge(a),d=a.w,l=e.node(d);l.in-=u,ct(t,n,l)}),e.removeNode(
r.v),s}function wo(e,t){let n=new z,r=0,o=0;e.nodes().forEach(a=>{n.setNode(a,{v:a,in:0,out:0})}),e.edges().forEach(a=>{let u=n.edge(a.v,a.w)||0,d=t(a),l=u+d;n.
setEdge(a.v,a.w,l);let f=n.node(a.v),p=n.node(a.w);o=Math.max(o,f.out+=d),r=Math.max(r,p.in+=d)});let i=yo(o+r+3).map(()=>new _o),s=r+1;return n.nodes().forEach(
a=>{ct(i,s,n.node(a))}),{graph:n,buckets:i,zeroIdx:s}}function ct(e,t,n){var r,o,i;n.out?n.in?(i=e[n.out-n.in+t])==null||i.enqueue(n):(o=e[e.length-1])==null||o.
enqueue(n):(r=e[0])==null||r.enqueue(n)}function yo(e){let t=[];for(let n=0;n<e;n++)t.push(n);return t}function Eo(e,t){(e.graph().acyclicer==="greedy"?vo(e,n(e)):
ko(e,t??null)).forEach(r=>{let o=e.edge(r);e.removeEdge(r),o.forwardName=r.name,o.reversed=!0,e.setEdge(r.w,r.v,o,pt("rev"))});function n(r){return o=>r.edge(o).
weight}}function ko(e,t){let n=[],r={},o={};function i(u){Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,e.outEdges(u).forEach(d=>{Object.hasOwn(r,d.w)?n.push(d):i(d.w)}),
delete r[u])}function s(u){var d;Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,(d=e.outEdges(u))==null||d.forEach(l=>{var f,p;Object.hasOwn(r,l.w)||((f=t.node(u))==null?
void 0:f.rank)>((p=t.node(l.w))==null?void 0:p.rank)&&No(e,l.w,l)?n.push(l):s(l.w)}),delete r[u])}let a=i;return t&&typeof t.node=="function"&&(a=s),e.sources().
forEach(a),e.nodes().forEach(a),n}function xo(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.reversed){e.removeEdge(t);let r=n.forwardName;delete n.reversed,delete n.
forwardName,e.setEdge(t.w,t.v,n,r)}})}function No(e,t,n){let r=new Set;function o(i){var s;if(e.sources().includes(i))return!0;r.add(i);for(let a of(s=e.inEdges(
i))!=null?s:[])if(!(a.v===n.v&&a.w===n.w)&&!r.has(a.v)&&o(a.v))return!0;return!1}return o(t)}function Oo(e){e.graph().dummyChains=[],e.edges().forEach(t=>Co(e,t))}
function Co(e,t){let n=t.v,r=e.node(n).rank,o=t.w,i=e.node(o).rank,s=t.name,a=e.edge(t),u=a.labelRank;if(i===r+1)return;e.removeEdge(t);let d,l,f;for(f=0,++r;r<
i;++f,++r)a.points=[],l={width:0,height:0,edgeLabel:a,edgeObj:t,rank:r},d=fe(e,"edge",l,"_d"),r===u&&(l.width=a.width,l.height=a.height,l.dummy="edge-label",l.labelpos=
a.labelpos),e.setEdge(n,d,{weight:a.weight},s),f===0&&e.graph().dummyChains.push(d),n=d;e.setEdge(n,o,{weight:a.weight},s)}function So(e){e.graph().dummyChains.
forEach(t=>{let n=e.node(t),r=n.edgeLabel,o;for(e.setEdge(n.edgeObj,r);n.dummy;)o=e.successors(t)[0],e.removeNode(t),r.points.push({x:n.x,y:n.y}),n.dummy==="edg\
e-label"&&(r.x=n.x,r.y=n.y,r.width=n.width,r.height=n.height),t=o,n=e.node(t)})}function gt(e){let t={};function n(r){let o=e.node(r);if(Object.hasOwn(t,r))return o.
rank;t[r]=!0;let i=e.outEdges(r),s=i?i.map(u=>u==null?Number.POSITIVE_INFINITY:n(u.w)-e.edge(u).minlen):[],a=J(Math.min,s);return a===Number.POSITIVE_INFINITY&&
(a=0),o.rank=a}e.sources().forEach(n)}function he(e,t){return e.node(t.w).rank-e.node(t.v).rank-e.edge(t).minlen}var Ln=jo;function jo(e){let t=new z({directed:!1}),
n=e.nodes();if(n.length===0)throw new Error("Graph must have at least one node");let r=n[0],o=e.nodeCount();t.setNode(r,{});let i,s;for(;$o(t,e)<o&&(i=Io(t,e),!!i);)
s=t.hasNode(i.v)?he(e,i):-he(e,i),To(t,e,s);return t}function $o(e,t){function n(r){let o=t.nodeEdges(r);o&&o.forEach(i=>{let s=i.v,a=r===s?i.w:s;!e.hasNode(a)&&
!he(t,i)&&(e.setNode(a,{}),e.setEdge(r,a,{}),n(a))})}return e.nodes().forEach(n),e.nodeCount()}function Io(e,t){return t.edges().reduce((n,r)=>{let o=Number.POSITIVE_INFINITY;
return e.hasNode(r.v)!==e.hasNode(r.w)&&(o=he(t,r)),o<n[0]?[o,r]:n},[Number.POSITIVE_INFINITY,null])[1]}function To(e,t,n){e.nodes().forEach(r=>t.node(r).rank+=
n)}var{preorder:Mo,postorder:Po}=ft,Lo=le;le.initLowLimValues=mt;le.initCutValues=_t;le.calcCutValue=Rn;le.leaveEdge=Fn;le.enterEdge=An;le.exchangeEdges=Hn;function le(e){
e=oo(e),gt(e);let t=Ln(e);mt(t),_t(t,e);let n,r;for(;n=Fn(t);)r=An(t,e,n),Hn(t,e,n,r)}function _t(e,t){let n=Po(e,e.nodes());n=n.slice(0,n.length-1),n.forEach(r=>Ro(
e,t,r))}function Ro(e,t,n){let r=e.node(n).parent,o=e.edge(n,r);o.cutvalue=Rn(e,t,n)}function Rn(e,t,n){let r=e.node(n).parent,o=!0,i=t.edge(n,r),s=0;i||(o=!1,i=
t.edge(r,n)),s=i.weight;let a=t.nodeEdges(n);return a&&a.forEach(u=>{let d=u.v===n,l=d?u.w:u.v;if(l!==r){let f=d===o,p=t.edge(u).weight;if(s+=f?p:-p,Fo(e,n,l)){
let h=e.edge(n,l).cutvalue;s+=f?-h:h}}}),s}function mt(e,t){arguments.length<2&&(t=e.nodes()[0]),Dn(e,{},1,t)}function Dn(e,t,n,r,o){let i=n,s=e.node(r);t[r]=!0;
let a=e.neighbors(r);return a&&a.forEach(u=>{Object.hasOwn(t,u)||(n=Dn(e,t,n,u,r))}),s.low=i,s.lim=n++,o?s.parent=o:delete s.parent,n}function Fn(e){return e.edges().
find(t=>e.edge(t).cutvalue<0)}function An(e,t,n){let r=n.v,o=n.w;t.hasEdge(r,o)||(r=n.w,o=n.v);let i=e.node(r),s=e.node(o),a=i,u=!1;return i.lim>s.lim&&(a=s,u=!0),
t.edges().filter(d=>u===sn(e,e.node(d.v),a)&&u!==sn(e,e.node(d.w),a)).reduce((d,l)=>he(t,l)<he(t,d)?l:d)}function Hn(e,t,n,r){let o=n.v,i=n.w;e.removeEdge(o,i),
e.setEdge(r.v,r.w,{}),mt(e),_t(e,t),Do(e,t)}function Do(e,t){let n=e.nodes().find(o=>!e.node(o).parent);if(!n)return;let r=Mo(e,[n]);r=r.slice(1),r.forEach(o=>{
let i=e.node(o).parent,s=t.edge(o,i),a=!1;s||(s=t.edge(i,o),a=!0),t.node(o).rank=t.node(i).rank+(a?s.minlen:-s.minlen)})}function Fo(e,t,n){return e.hasEdge(t,n)}
function sn(e,t,n){return n.low<=t.lim&&t.lim<=n.lim}var Ao=Ho;function Ho(e){let t=e.graph().ranker;if(typeof t=="function")return t(e);switch(t){case"network-\
simplex":an(e);break;case"tight-tree":Bo(e);break;case"longest-path":qo(e);break;case"none":break;default:an(e)}}var qo=gt;function Bo(e){gt(e),Ln(e)}function an(e){
Lo(e)}var Vo=Wo;function Wo(e){let t=Yo(e),n=e.graph();Array.isArray(n.dummyChains)&&n.dummyChains.forEach(r=>{let o=e.node(r),i=o.edgeObj,s=Uo(e,t,i.v,i.w),a=s.
path,u=s.lca,d=0,l=a[d],f=!0;for(;r!==i.w;){if(o=e.node(r),f){for(;(l=a[d])!==u&&e.node(l).maxRank<o.rank;)d++;l===u&&(f=!1)}if(!f){for(;d<a.length-1&&e.node(a[d+
1]).minRank<=o.rank;)d++;l=a[d]}l!==void 0&&e.setParent(r,l),r=e.successors(r)[0]}})}function Uo(e,t,n,r){let o=[],i=[],s=Math.min(t[n].low,t[r].low),a=Math.max(
t[n].lim,t[r].lim),u;u=n;do u=e.parent(u),o.push(u);while(u&&(t[u].low>s||a>t[u].lim));let d=u,l=r;for(;(l=e.parent(l))!==d;)i.push(l);return{path:o.concat(i.reverse()),
lca:d}}function Yo(e){let t={},n=0;function r(o){let i=n;e.children(o).forEach(r),t[o]={low:i,lim:n++}}return e.children(Ae).forEach(r),t}function zo(e){let t=fe(
e,"root",{},"_root"),n=Go(e),r=Object.values(n),o=J(Math.max,r)-1,i=2*o+1;e.graph().nestingRoot=t,e.edges().forEach(a=>e.edge(a).minlen*=i);let s=Ko(e)+1;e.children(
Ae).forEach(a=>{qn(e,t,i,s,o,n,a)}),e.graph().nodeRankFactor=i}function qn(e,t,n,r,o,i,s){var a;let u=e.children(s);if(!u.length){s!==t&&e.setEdge(t,s,{weight:0,
minlen:n});return}let d=rn(e,"_bt"),l=rn(e,"_bb"),f=e.node(s);e.setParent(d,s),f.borderTop=d,e.setParent(l,s),f.borderBottom=l,u.forEach(p=>{var h;qn(e,t,n,r,o,
i,p);let _=e.node(p),w=_.borderTop?_.borderTop:p,b=_.borderBottom?_.borderBottom:p,y=_.borderTop?r:2*r,g=w!==b?1:o-((h=i[s])!=null?h:0)+1;e.setEdge(d,w,{weight:y,
minlen:g,nestingEdge:!0}),e.setEdge(b,l,{weight:y,minlen:g,nestingEdge:!0})}),e.parent(s)||e.setEdge(t,d,{weight:0,minlen:o+((a=i[s])!=null?a:0)})}function Go(e){
let t={};function n(r,o){let i=e.children(r);i&&i.length&&i.forEach(s=>n(s,o+1)),t[r]=o}return e.children(Ae).forEach(r=>n(r,1)),t}function Ko(e){return e.edges().
reduce((t,n)=>t+e.edge(n).weight,0)}function Xo(e){let t=e.graph();e.removeNode(t.nestingRoot),delete t.nestingRoot,e.edges().forEach(n=>{e.edge(n).nestingEdge&&
e.removeEdge(n)})}var Jo=Qo;function Qo(e){function t(n){let r=e.children(n),o=e.node(n);if(r.length&&r.forEach(t),o&&Object.hasOwn(o,"minRank")){o.borderLeft=[],
o.borderRight=[];for(let i=o.minRank,s=o.maxRank+1;i<s;++i)ln(e,"borderLeft","_bl",n,o,i),ln(e,"borderRight","_br",n,o,i)}}e.children(Ae).forEach(t)}function ln(e,t,n,r,o,i){
let s={width:0,height:0,rank:i,borderType:t},a=o[t][i-1],u=fe(e,"border",s,n);o[t][i]=u,e.setParent(u,r),a&&e.setEdge(a,u,{weight:1})}function Zo(e){var t;let n=(t=
e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="lr"||n==="rl")&&Bn(e)}function ei(e){var t;let n=(t=e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="\
bt"||n==="rl")&&ti(e),(n==="lr"||n==="rl")&&(ni(e),Bn(e))}function Bn(e){e.nodes().forEach(t=>un(e.node(t))),e.edges().forEach(t=>un(e.edge(t)))}function un(e){
let t=e.width;e.width=e.height,e.height=t}function ti(e){e.nodes().forEach(t=>at(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==null||n.forEach(
at),Object.hasOwn(r,"y")&&at(r)})}function at(e){e.y=-e.y}function ni(e){e.nodes().forEach(t=>lt(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==
null||n.forEach(lt),Object.hasOwn(r,"x")&&lt(r)})}function lt(e){let t=e.x;e.x=e.y,e.y=t}function ri(e,t=null){let n={},r=e.nodes().filter(d=>!e.children(d).length),
o=r.map(d=>e.node(d).rank),i=J(Math.max,o),s=ye(i+1).map(()=>[]);function a(d){if(n[d])return;n[d]=!0;let l=e.node(d);s[l.rank].push(d);let f=e.successors(d);f&&
[...f].sort((p,h)=>u(p,h)).forEach(a)}r.sort((d,l)=>e.node(d).rank-e.node(l).rank).forEach(a);function u(d,l){let f=e.node(d),p=e.node(l);return Pn(t,f,p)}return s}
function oi(e,t){let n=0;for(let r=1;r<t.length;++r)n+=ii(e,t[r-1],t[r]);return n}function ii(e,t,n){let r=ho(n,n.map((d,l)=>l)),o=t.flatMap(d=>{let l=e.outEdges(
d);return l?l.map(f=>({pos:r[f.w],weight:e.edge(f).weight})).sort((f,p)=>f.pos-p.pos):[]}),i=1;for(;i<n.length;)i<<=1;let s=2*i-1;i-=1;let a=new Array(s).fill(0),
u=0;return o.forEach(d=>{let l=d.pos+i;a[l]+=d.weight;let f=0;for(;l>0;)l%2&&(f+=a[l+1]),l=l-1>>1,a[l]+=d.weight;u+=d.weight*f}),u}function si(e,t=[]){return t.
map(n=>{let r=e.inEdges(n);if(!r||!r.length)return{v:n};{let o=r.reduce((i,s)=>{let a=e.edge(s),u=e.node(s.v);return{sum:i.sum+a.weight*u.order,weight:i.weight+
a.weight}},{sum:0,weight:0});return{v:n,barycenter:o.sum/o.weight,weight:o.weight}}})}function ai(e,t){let n={};e.forEach((o,i)=>{let s={indegree:0,in:[],out:[],
vs:[o.v],i};o.barycenter!==void 0&&(s.barycenter=o.barycenter,s.weight=o.weight),n[o.v]=s}),t.edges().forEach(o=>{let i=n[o.v],s=n[o.w];i!==void 0&&s!==void 0&&
(s.indegree++,i.out.push(s))});let r=Object.values(n).filter(o=>!o.indegree);return li(r)}function li(e){let t=[];function n(o){return i=>{i.merged||(i.barycenter===
void 0||o.barycenter===void 0||i.barycenter>=o.barycenter)&&ui(o,i)}}function r(o){return i=>{i.in.push(o),--i.indegree===0&&e.push(i)}}for(;e.length;){let o=e.
pop();t.push(o),o.in.reverse().forEach(n(o)),o.out.forEach(r(o))}return t.filter(o=>!o.merged).map(o=>De(o,["vs","i","barycenter","weight"]))}function ui(e,t){let n=0,
r=0;e.weight&&(n+=e.barycenter*e.weight,r+=e.weight),t.weight&&(n+=t.barycenter*t.weight,r+=t.weight),e.vs=t.vs.concat(e.vs),e.barycenter=n/r,e.weight=r,e.i=Math.
min(t.i,e.i),t.merged=!0}function di(e,t,n,r,o){let i={},s=null,a=null,u=o;typeof t=="boolean"?(u=t,i={}):t&&(i=t,s=n??null,a=r??null);let d=lo(e,y=>Object.hasOwn(
y,"barycenter")),l=d.lhs,f=d.rhs.sort((y,g)=>g.i-y.i),p=[],h=0,_=0,w=0;l.sort(ci(a,s,!!u));for(let[y,g]of Object.entries(i)){let v=l.findIndex(m=>m.vs[0]===y);l.
splice(v+1,0,g)}w=dn(p,f,w),l.forEach(y=>{w+=y.vs.length,p.push(y.vs),h+=y.barycenter*y.weight,_+=y.weight,w=dn(p,f,w)});let b={vs:p.flat(1)};return _&&(b.barycenter=
h/_,b.weight=_),b}function dn(e,t,n){let r;for(;t.length&&(r=t[t.length-1]).i<=n;)t.pop(),e.push(r.vs),n++;return n}function ci(e,t,n){return(r,o)=>{if(r.barycenter<
o.barycenter)return-1;if(r.barycenter>o.barycenter)return 1;if(e&&(typeof r.vs[0]=="string"||typeof o.vs[0]=="string")){let i=e.node(r.vs[0]),s=e.node(o.vs[0]),
a=Pn(t,i,s);if(a!==0)return a}return n?o.i-r.i:r.i-o.i}}function Vn(e,t,n,r,o){var i,s,a,u,d,l,f,p,h,_,w;let b=null,y=o;typeof r=="boolean"?(y=r,b=null):r!==void 0&&
(b=r);let g=e.children(t),v=e.node(t),m=v?v.borderLeft:void 0,E=v?v.borderRight:void 0,j={};m&&(g=g.filter(x=>x!==m&&x!==E));let P=si(e,g);P.forEach(x=>{if(e.children(
x.v).length){let{result:N}=Vn(e,x.v,n,b,y);j[x.v]=N,Object.hasOwn(N,"barycenter")&&fi(x,N)}});let k=ai(P,n);hi(k,j);let M={},L=!1;for(let x=0;x<k.length;x++)for(let N=x+
1;N<k.length;N++)if(!(!k[x]||!k[N]||!((i=k[x])!=null&&i.barycenter)||!((s=k[N])!=null&&s.barycenter))&&((a=k[x])==null?void 0:a.barycenter)===k[N].barycenter){let S=(d=
(u=k[x])==null?void 0:u.vs[0])!=null?d:"",O=(f=(l=k[N])==null?void 0:l.vs[0])!=null?f:"",R=e.node(S),de=e.node(O);if(R.dummy==="edge"&&de.dummy==="edge"&&((p=R.
edgeObj)==null?void 0:p.v)===((h=de.edgeObj)==null?void 0:h.v)&&((_=R.edgeObj)==null?void 0:_.w)===((w=de.edgeObj)==null?void 0:w.w))if(R.edgeLabel.reversed){M[O]=
k[x],k.splice(x,1),x--;break}else M[S]||(M[S]=k[N],k.splice(N,1),N--);else L=!0}let C=di(k,M,b,e,y);if(m&&E){C.vs=[m,C.vs,E].flat(1);let x=e.predecessors(m);if(x&&
x.length){let N=e.node(x[0]),S=e.predecessors(E),O=e.node(S[0]);Object.hasOwn(C,"barycenter")||(C.barycenter=0,C.weight=0),C.barycenter=(C.barycenter*C.weight+N.
order+O.order)/(C.weight+2),C.weight+=2}}return Object.defineProperty(C,"result",{value:C,enumerable:!1,configurable:!0,writable:!0}),Object.defineProperty(C,"u\
sedBias",{value:L,enumerable:!1,configurable:!0,writable:!0}),C}function hi(e,t){e.forEach(n=>{n.vs=n.vs.flatMap(r=>t[r]?t[r].vs:r)})}function fi(e,t){e.barycenter!==
void 0?(e.barycenter=(e.barycenter*e.weight+t.barycenter*t.weight)/(e.weight+t.weight),e.weight+=t.weight):(e.barycenter=t.barycenter,e.weight=t.weight)}function pi(e,t,n,r){
r||(r=e.nodes());let o=gi(e),i=new z({compound:!0}).setGraph({root:o}).setDefaultNodeLabel(s=>e.node(s));return r.forEach(s=>{let a=e.node(s),u=e.parent(s);if(a.
rank===t||a.minRank<=t&&t<=a.maxRank){i.setNode(s),i.setParent(s,u||o);let d=e[n](s);d&&d.forEach(l=>{let f=l.v===s?l.w:l.v,p=i.edge(f,s),h=p!==void 0?p.weight:
0;i.setEdge(f,s,{weight:e.edge(l).weight+h})}),Object.hasOwn(a,"minRank")&&i.setNode(s,{borderLeft:a.borderLeft[t],borderRight:a.borderRight[t]})}}),i}function gi(e){
let t;for(;e.hasNode(t=pt("_root")););return t}function _i(e,t,n){let r={},o;n.forEach(i=>{let s=e.parent(i),a,u;for(;s;){if(a=e.parent(s),a?(u=r[a],r[a]=s):(u=
o,o=s),u&&u!==s){t.setEdge(u,s);return}s=a}})}function Wn(e,t={},n=null){if(typeof t.customOrder=="function"){t.customOrder(e,Wn);return}let r=Tn(e),o=cn(e,ye(1,
r+1),"inEdges"),i=cn(e,ye(r-1,-1,-1),"outEdges"),s=ri(e,n);if(hn(e,s),t.disableOptimalOrderHeuristic)return;let a=Number.POSITIVE_INFINITY,u,d=t.constraints||[];
for(let l=0,f=0;f<4;++l,++f){mi(l%2?o:i,l%4>=2,d,n),s=Ee(e);let p=oi(e,s);p<a?(f=0,u=Object.assign({},s),a=p):p===a&&(u=structuredClone(s))}hn(e,u)}function cn(e,t,n){
let r=new Map,o=(i,s)=>{r.has(i)||r.set(i,[]),r.get(i).push(s)};for(let i of e.nodes()){let s=e.node(i);if(typeof s.rank=="number"&&o(s.rank,i),typeof s.minRank==
"number"&&typeof s.maxRank=="number")for(let a=s.minRank;a<=s.maxRank;a++)a!==s.rank&&o(a,i)}return t.map(function(i){return pi(e,i,n,r.get(i)||[])})}function mi(e,t,n,r){
let o=!0,i=new z;e.forEach(function(s){n.forEach(l=>i.setEdge(l.left,l.right));let a=s.graph().root,{result:u,usedBias:d}=Vn(s,a,i,r,o);t&&d&&(o=!o),u.vs.forEach(
(l,f)=>s.node(l).order=f),_i(s,i,u.vs)})}function hn(e,t){Object.values(t).forEach(n=>n.forEach((r,o)=>e.node(r).order=o))}function vi(e,t){let n={};function r(o,i){
let s=0,a=0,u=o.length,d=i[i.length-1];return i.forEach((l,f)=>{let p=wi(e,l),h=p?e.node(p).order:u;(p||l===d)&&(i.slice(a,f+1).forEach(_=>{let w=e.predecessors(
_);w&&w.forEach(b=>{let y=e.node(b),g=y.order;(g<s||h<g)&&!(y.dummy&&e.node(_).dummy)&&Un(n,b,_)})}),a=f+1,s=h)}),i}return t.length&&t.reduce(r),n}function bi(e,t){
let n={};function r(s){var a;return((a=e.node(s))==null?void 0:a.dummy)==="border"}if(!e.nodes().some(r))return n;function o(s,a,u,d,l){ye(a,u).forEach(f=>{let p=s[f];
if(p!==void 0&&e.node(p).dummy){let h=e.predecessors(p);h&&h.forEach(_=>{if(_===void 0)return;let w=e.node(_);w.dummy&&(w.order<d||w.order>l)&&Un(n,_,p)})}})}function i(s,a){
let u=-1,d=-1,l=0;return a.forEach((f,p)=>{if(r(f)){let h=e.predecessors(f);if(h&&h.length){let _=h[0];if(_===void 0)return;d=e.node(_).order,o(a,l,p,u,d),l=p,u=
d}}o(a,l,a.length,d,s.length)}),a}return t.length&&t.reduce(i),n}function wi(e,t){if(e.node(t).dummy){let n=e.predecessors(t);if(n)return n.find(r=>e.node(r).dummy)}}
function Un(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];r||(e[t]=r={}),r[n]=!0}function yi(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];return r!==void 0&&Object.hasOwn(
r,n)}function Ei(e,t,n,r,o){let i={},s={},a={};return t.forEach(u=>{u.forEach((d,l)=>{i[d]=d,s[d]=d,a[d]=l})}),t.forEach(u=>{let d=-1,l=-1,f=!1,p=u,h=u.findIndex(
_=>o?.includes(_)||fn(_,e,o));h>0&&(p=[u[h],...u.slice(0,h),...u.slice(h+1)],f=!0),p.forEach(_=>{var w;let b=r(_);if(b&&b.length){o!=null&&o.includes(_)&&(b=b.filter(
v=>fn(v,e,o)));let y=b.sort((v,m)=>{let E=a[v],j=a[m];return(E!==void 0?E:0)-(j!==void 0?j:0)}),g=(y.length-1)/2;for(let v=Math.floor(g),m=Math.ceil(g);v<=m;++v){
let E=y[v];if(E===void 0)continue;let j=a[E];if(j!==void 0&&s[_]===_&&d<j&&a[E]!==l&&!yi(n,_,E)){let P=i[E];P!==void 0&&(s[E]=_,s[_]=i[_]=P,d=j,f&&(d=-1,l=(w=a[E])!=
null?w:-1,f=!1))}}}})}),{root:i,align:s}}function ki(e,t,n,r,o=!1){let i={},s=xi(e,t,n,o),a=o?"borderLeft":"borderRight";function u(h,_){let w=s.nodes().slice(),
b={},y=w.pop();for(;y;){if(b[y])h(y);else{b[y]=!0,w.push(y);for(let g of _(y))w.push(g)}y=w.pop()}}function d(h){let _=s.inEdges(h);_?i[h]=_.reduce((w,b)=>{var y;
let g=(y=i[b.v])!=null?y:0,v=s.edge(b);return Math.max(w,g+(v!==void 0?v:0))},0):i[h]=0}function l(h){let _=s.outEdges(h),w=Number.POSITIVE_INFINITY;_&&(w=_.reduce(
(y,g)=>{let v=i[g.w],m=s.edge(g);return Math.min(y,(v!==void 0?v:0)-(m!==void 0?m:0))},Number.POSITIVE_INFINITY));let b=e.node(h);w!==Number.POSITIVE_INFINITY&&
b.borderType!==a&&(i[h]=Math.max(i[h]!==void 0?i[h]:0,w))}function f(h){return s.predecessors(h)||[]}function p(h){return s.successors(h)||[]}return u(d,f),u(l,
p),Object.keys(r).forEach(h=>{var _;let w=n[h];w!==void 0&&(i[h]=(_=i[w])!=null?_:0)}),i}function xi(e,t,n,r){let o=new z,i=e.graph(),s=ji(i.nodesep,i.edgesep,r);
return t.forEach(a=>{let u;a.forEach(d=>{let l=n[d];if(l!==void 0){if(o.setNode(l),u!==void 0){let f=n[u];if(f!==void 0){let p=o.edge(f,l);o.setEdge(f,l,Math.max(
s(e,d,u),p||0))}}u=d}})}),o}function Ni(e,t){return Object.values(t).reduce((n,r)=>{let o=Number.NEGATIVE_INFINITY,i=Number.POSITIVE_INFINITY;Object.entries(r).
forEach(([a,u])=>{let d=$i(e,a)/2;o=Math.max(u+d,o),i=Math.min(u-d,i)});let s=o-i;return s<n[0]&&(n=[s,r]),n},[Number.POSITIVE_INFINITY,null])[1]}function Oi(e,t){
let n=Object.values(t),r=J(Math.min,n),o=J(Math.max,n);["u","d"].forEach(i=>{["l","r"].forEach(s=>{let a=i+s,u=e[a];if(!u||u===t)return;let d=Object.values(u),l=r-
J(Math.min,d);s!=="l"&&(l=o-J(Math.max,d)),l&&(e[a]=Fe(u,f=>f+l))})})}function Ci(e,t=void 0){let n=e.ul;return n?Fe(n,(r,o)=>{var i,s;if(t){let u=t.toLowerCase(),
d=e[u];if(d&&d[o]!==void 0)return d[o]}let a=Object.values(e).map(u=>{let d=u[o];return d!==void 0?d:0}).sort((u,d)=>u-d);return(((i=a[1])!=null?i:0)+((s=a[2])!=
null?s:0))/2}):{}}function Si(e,t){let n=Ee(e),r=Object.assign(vi(e,n),bi(e,n)),o={},i;["u","d"].forEach(a=>{i=a==="u"?n:Object.values(n).reverse(),["l","r"].forEach(
u=>{u==="r"&&(i=i.map(f=>Object.values(f).reverse()));let d=Ei(e,i,r,f=>(a==="u"?e.predecessors(f):e.successors(f))||[],t),l=ki(e,i,d.root,d.align,u==="r");u===
"r"&&(l=Fe(l,f=>-f)),o[a+u]=l})});let s=Ni(e,o);return Oi(o,s),Ci(o,e.graph().align)}function ji(e,t,n){return(r,o,i)=>{let s=r.node(o),a=r.node(i),u=0,d;if(u+=
s.width/2,Object.hasOwn(s,"labelpos"))switch(s.labelpos.toLowerCase()){case"l":d=-s.width/2;break;case"r":d=s.width/2;break}if(d&&(u+=n?d:-d),d=void 0,u+=(s.dummy?
t:e)/2,u+=(a.dummy?t:e)/2,u+=a.width/2,Object.hasOwn(a,"labelpos"))switch(a.labelpos.toLowerCase()){case"l":d=a.width/2;break;case"r":d=-a.width/2;break}return d&&
(u+=n?d:-d),u}}function $i(e,t){return e.node(t).width}function fn(e,t,n){var r;if(!n)return!1;let o=(r=t.node(e))==null?void 0:r.edgeObj;if(!o||t.node(e).edgeLabel.
reversed)return!1;let i=n.indexOf(o?.v),s=n.indexOf(o?.w);return i!==-1&&s!==-1&&i===(s+1)%n.length||i===(s-1)%n.length}function Ii(e,t){e=$n(e),Ti(e),Object.entries(
Si(e,t)).forEach(([n,r])=>e.node(n).x=r)}function Ti(e){let t=Ee(e),n=e.graph(),r=n.ranksep,o=n.rankalign,i=0;t.forEach(s=>{let a=s.reduce((u,d)=>{var l;let f=(l=
e.node(d).height)!=null?l:0;return u>f?u:f},0);s.forEach(u=>{let d=e.node(u);o==="top"?d.y=i+d.height/2:o==="bottom"?d.y=i+a-d.height/2:d.y=i+a/2}),i+=a+r})}var pn=new WeakMap;
function Mi(e,t={}){return Yn(e,Mn,t),e}function gn(e,t,n){let r=t;for(;r!==void 0;){let o=e.parent(r);if(o===n)return r;r=o}}function Yn(e,t,n){var r;let o=e.nodes().
filter(g=>e.children(g).length),i={};o.forEach(g=>{let v=e.node(g);if(v&&v.rankdir){let m=new z({multigraph:!0,compound:!0});m.setGraph({rankdir:v.rankdir});let E=e.
children(g);E.forEach(S=>{let O={...e.node(S)};m.setNode(S,O);let R=e.parent(S);R&&R!==g&&E.includes(R)&&m.setParent(S,R)});let j=new Set;e.edges().forEach(S=>{
let O=gn(e,S.v,g),R=gn(e,S.w,g);if(O===S.v&&R===S.w)m.setEdge(S,{...e.edge(S)});else if(O&&R&&O!==R){let de=`${O}\0${R}`;j.has(de)||(j.add(de),m.setEdge(O,R,{...e.
edge(S)}))}}),Yn(m,t,n);let P=wn(m);mn(P,t,n,null),vn(m,P);let k=1/0,M=1/0,L=-1/0,C=-1/0;m.nodes().forEach(S=>{if(S===g)return;let O=m.node(S);O&&typeof O.x=="n\
umber"&&typeof O.y=="number"&&typeof O.width=="number"&&typeof O.height=="number"&&(k=Math.min(k,O.x-O.width/2),L=Math.max(L,O.x+O.width/2),M=Math.min(M,O.y-O.height/
2),C=Math.max(C,O.y+O.height/2))}),(!isFinite(k)||!isFinite(M)||!isFinite(L)||!isFinite(C))&&(k=M=0,L=C=0);let x=L-k,N=C-M;i[g]={minX:k,minY:M,maxX:L,maxY:C,width:x,
height:N,offsetX:k,offsetY:M},v._dagreClusterSubgraph=m}});let s=[],a=g=>{let v=[],m=(e.children(g)||[]).filter(E=>E!==g);for(;m.length>0;){let E=m.shift();v.push(
E),(e.children(E)||[]).filter(j=>j!==E).forEach(j=>m.push(j))}return v},u=new Map;o.forEach(g=>{let v=e.node(g);v&&v.rankdir&&i[g]&&u.set(g,(e.children(g)||[]).
filter(m=>m!==g))});let d=new Set([...u.values()].flat()),l=new Map;u.forEach((g,v)=>{d.has(v)||l.set(v,a(v))});let f=new Set([...l.values()].flat()),p=g=>{for(let[
v,m]of l)if(m.includes(g))return v;return g},h=[];e.edges().forEach(g=>{(f.has(g.v)||f.has(g.w))&&h.push({edge:g,label:e.edge(g)})});let _=new Map;f.forEach(g=>{
let v=e.parent(g);_.set(g,typeof v=="string"?v:void 0)}),l.forEach((g,v)=>{let m=e.node(v),E=[];g.forEach(k=>{let M=e.node(k);M&&(E.push({id:k,node:M,parent:_.get(
k)}),e.removeNode(k))});let j=h.filter(({edge:k})=>g.includes(k.v)||g.includes(k.w)),P=i[v];m&&(s.push({clusterId:v,subgraph:m._dagreClusterSubgraph,bounds:P,children:g,
removedNodes:E,removedEdges:j}),m.width=P.width,m.height=P.height)});let w=new Set;h.forEach(({edge:g,label:v})=>{let m=p(g.v),E=p(g.w);if(m!==E&&e.hasNode(m)&&
e.hasNode(E)){let j=`${m}\0${E}`;w.has(j)||(w.add(j),e.setEdge(m,E,{...v,width:0,height:0}))}});let b=wn(e),y=mn(b,t,n,(r=pn.get(e))!=null?r:null);pn.set(e,y),vn(
e,b),w.forEach(g=>{let v=g.indexOf("\0"),m=g.slice(0,v),E=g.slice(v+1);e.hasEdge(m,E)&&e.removeEdge(m,E)}),s.forEach(({clusterId:g,subgraph:v,bounds:m,removedNodes:E,
removedEdges:j})=>{var P,k;let M=e.node(g),L=(P=M?.x)!=null?P:0,C=(k=M?.y)!=null?k:0,x=(m.minX+m.maxX)/2,N=(m.minY+m.maxY)/2;E.forEach(({id:S,node:O,parent:R})=>{
e.setNode(S,O),R!==void 0&&e.setParent(S,R)}),j.forEach(({edge:S,label:O})=>{e.setEdge(S,O)}),v.nodes().forEach(S=>{if(S===g)return;let O=v.node(S),R=e.node(S);
R&&O&&typeof O.x=="number"&&typeof O.y=="number"&&(R.x=L+(O.x-x),R.y=C+(O.y-N))}),_n(e,v,L-x,C-N),delete M._dagreClusterSubgraph}),o.forEach(g=>{var v,m;let E=e.
node(g),j=i[g];if(E&&E.rankdir&&E._dagreClusterSubgraph&&j){let P=E._dagreClusterSubgraph,k=(v=E.x)!=null?v:0,M=(m=E.y)!=null?m:0,L=(j.minX+j.maxX)/2,C=(j.minY+
j.maxY)/2;P.nodes().forEach(x=>{if(x===g)return;let N=P.node(x),S=e.node(x);if(S&&N&&typeof N.x=="number"&&typeof N.y=="number"){let O=N.x-L,R=N.y-C;S.x=k+O,S.y=
M+R}}),_n(e,P,k-L,M-C),delete E._dagreClusterSubgraph}})}function _n(e,t,n,r){t.edges().forEach(o=>{if(!e.hasEdge(o))return;let i=t.edge(o),s=e.edge(o);s.points=
i.points.map(a=>({x:a.x+n,y:a.y+r})),Object.hasOwn(i,"x")&&(s.x=i.x+n,s.y=i.y+r)})}function mn(e,t,n,r=null){var o,i;let s=n?.useDynamic!==!1,a=s&&(o=r?.graph)!=
null?o:null,u=s&&(i=r?.rawNodes)!=null?i:null;t("    makeSpaceForEdgeLabels",()=>qi(e)),t("    removeSelfEdges",()=>Xi(e)),t("    acyclic",()=>Eo(e,a)),t("    n\
estingGraph.run",()=>zo(e)),t("    rank",()=>Ao($n(e))),t("    injectEdgeLabelProxies",()=>Bi(e)),t("    removeEmptyRanks",()=>so(e)),t("    nestingGraph.cleanu\
p",()=>Xo(e)),t("    normalizeRanks",()=>io(e)),t("    assignRankMinMax",()=>Vi(e)),t("    removeEdgeLabelProxies",()=>Wi(e)),t("    normalize.run",()=>Oo(e)),t(
"    parentDummyChains",()=>Vo(e)),t("    addBorderSegments",()=>Jo(e)),t("    order",()=>Wn(e,n,u)),t("    insertSelfEdges",()=>Ji(e)),t("    adjustCoordinateS\
ystem",()=>Zo(e)),t("    position",()=>Ii(e,n.corePath)),t("    positionSelfEdges",()=>Qi(e));let d=JSON.parse(JSON.stringify(e._nodes));return t("    removeBor\
derNodes",()=>Ki(e)),t("    normalize.undo",()=>So(e)),t("    fixupEdgeLabelCoords",()=>zi(e)),t("    undoCoordinateSystem",()=>ei(e)),t("    translateGraph",()=>Ui(
e)),t("    assignNodeIntersects",()=>Yi(e)),t("    reversePoints",()=>Gi(e)),t("    acyclic.undo",()=>xo(e)),{graph:e,rawNodes:d}}function vn(e,t){e.nodes().forEach(
n=>{let r=e.node(n),o=t.node(n);r&&(r.x=o.x,r.y=o.y,r.order=o.order,r.rank=o.rank,t.children(n).length&&(r.width=o.width,r.height=o.height))}),e.edges().forEach(
n=>{let r=e.edge(n),o=t.edge(n);r.points=o.points,Object.hasOwn(o,"x")&&(r.x=o.x,r.y=o.y)}),e.graph().width=t.graph().width,e.graph().height=t.graph().height}var Pi=[
"nodesep","edgesep","ranksep","marginx","marginy"],Li={ranksep:50,edgesep:20,nodesep:50,rankdir:"TB",rankalign:"center"},Ri=["acyclicer","ranker","rankdir","ali\
gn","rankalign"],Di=["width","height","rank"],bn={width:0,height:0},Fi=["minlen","weight","width","height","labeloffset"],Ai={minlen:1,weight:1,width:0,height:0,
labeloffset:10,labelpos:"r"},Hi=["labelpos"];function wn(e){let t=new z({multigraph:!0,compound:!0}),n=dt(e.graph());return t.setGraph(Object.assign({},Li,ut(n,
Pi),De(n,Ri))),e.nodes().forEach(r=>{let o=dt(e.node(r)),i=ut(o,Di);Object.keys(bn).forEach(a=>{i[a]===void 0&&(i[a]=bn[a])}),t.setNode(r,i);let s=e.parent(r);s!==
void 0&&t.setParent(r,s)}),e.edges().forEach(r=>{let o=dt(e.edge(r));t.setEdge(r,Object.assign({},Ai,ut(o,Fi),De(o,Hi)))}),t}function qi(e){let t=e.graph();t.ranksep/=
2,e.edges().forEach(n=>{var r;let o=e.edge(n);o.minlen*=2,((r=o.labelpos)!=null?r:"r").toLowerCase()!=="c"&&(t.rankdir==="TB"||t.rankdir==="BT"?o.width+=o.labeloffset:
o.height+=o.labeloffset)})}function Bi(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.width&&n.height){let r=e.node(t.v),o={rank:(e.node(t.w).rank-r.rank)/2+r.rank,
e:t};fe(e,"edge-proxy",o,"_ep")}})}function Vi(e){let t=0;e.nodes().forEach(n=>{let r=e.node(n);r.borderTop&&(r.minRank=e.node(r.borderTop).rank,r.maxRank=e.node(
r.borderBottom).rank,t=Math.max(t,r.maxRank))}),e.graph().maxRank=t}function Wi(e){e.nodes().forEach(t=>{let n=e.node(t);if(n.dummy==="edge-proxy"){let r=n;e.edge(
r.e).labelRank=n.rank,e.removeNode(t)}})}function Ui(e){let t=Number.POSITIVE_INFINITY,n=0,r=Number.POSITIVE_INFINITY,o=0,i=e.graph(),s=i.marginx||0,a=i.marginy||
0;function u(d){let l=d.x,f=d.y,p=d.width,h=d.height;t=Math.min(t,l-p/2),n=Math.max(n,l+p/2),r=Math.min(r,f-h/2),o=Math.max(o,f+h/2)}e.nodes().forEach(d=>u(e.node(
d))),e.edges().forEach(d=>{let l=e.edge(d);Object.hasOwn(l,"x")&&u(l)}),t-=s,r-=a,e.nodes().forEach(d=>{let l=e.node(d);l.x-=t,l.y-=r}),e.edges().forEach(d=>{let l=e.
edge(d);l.points.forEach(f=>{f.x-=t,f.y-=r}),Object.hasOwn(l,"x")&&(l.x-=t),Object.hasOwn(l,"y")&&(l.y-=r)}),i.width=n-t+s,i.height=o-r+a}function Yi(e){e.edges().
forEach(t=>{if(t.v===t.w)return;let n=e.edge(t),r=e.node(t.v),o=e.node(t.w),i,s;n.points?(i=n.points[0],s=n.points[n.points.length-1]):(n.points=[],i=o,s=r),n.points.
unshift(nn(r,i)),n.points.push(nn(o,s))})}function zi(e){e.edges().forEach(t=>{let n=e.edge(t);if(Object.hasOwn(n,"x"))switch((n.labelpos==="l"||n.labelpos==="r")&&
(n.width-=n.labeloffset),n.labelpos){case"l":n.x-=n.width/2+n.labeloffset;break;case"r":n.x+=n.width/2+n.labeloffset;break}})}function Gi(e){e.edges().forEach(t=>{
let n=e.edge(t);n.reversed&&n.points.reverse()})}function Ki(e){e.nodes().forEach(t=>{if(e.children(t).length){let n=e.node(t),r=e.node(n.borderTop),o=e.node(n.
borderBottom),i=e.node(n.borderLeft[n.borderLeft.length-1]),s=e.node(n.borderRight[n.borderRight.length-1]);n.width=Math.abs(s.x-i.x),n.height=Math.abs(o.y-r.y),
n.x=i.x+n.width/2,n.y=r.y+n.height/2}}),e.nodes().forEach(t=>{e.node(t).dummy==="border"&&e.removeNode(t)})}function Xi(e){e.edges().forEach(t=>{if(t.v===t.w){let n=e.
node(t.v);n.selfEdges||(n.selfEdges=[]),n.selfEdges.push({e:t,label:e.edge(t)}),e.removeEdge(t)}})}function Ji(e){Ee(e).forEach(t=>{let n=0;t.forEach((r,o)=>{let i=e.
node(r);typeof i.rank!="number"&&(i.rank=0),i.order=o+n,(i.selfEdges||[]).forEach(s=>{fe(e,"selfedge",{width:s.label.width,height:s.label.height,rank:i.rank,order:o+
++n,e:s.e,edgeLabel:s.label},"_se"),(!Array.isArray(s.label.points)||s.label.points.length!==7)&&(s.label.points=[{x:0,y:-10},{x:0,y:-10},{x:0,y:0},{x:0,y:10},{
x:0,y:10},{x:0,y:0},{x:0,y:0}])}),delete i.selfEdges})})}function Qi(e){e.nodes().forEach(t=>{let n=e.node(t),r=o=>typeof o=="number"&&isFinite(o);if(n.dummy===
"selfedge"){let o=n,i=e.node(o.e.v),s=r(i?.x)?i.x:0,a=r(i?.y)?i.y:0,u=r(i?.width)?i.width:0,d=r(i?.height)?i.height:0,l=r(n.x)?n.x:s,f=r(n.y)?n.y:a,p=u/2,h=d/2;
o.edgeLabel.points=[{x:l+p,y:f-h},{x:l+p,y:f-h},{x:l,y:f},{x:l-p,y:f+h},{x:l-p,y:f+h},{x:l,y:f},{x:l,y:f}],o.edgeLabel.x=l,o.edgeLabel.y=f,e.setEdge(o.e,o.edgeLabel),
e.removeNode(t)}else n&&Array.isArray(n.selfEdges)&&n.selfEdges.forEach(o=>{if(!Array.isArray(o.label.points)||o.label.points.length!==7){let i=r(n.x)?n.x:0,s=r(
n.y)?n.y:0,a=r(n.width)?n.width:0,u=r(n.height)?n.height:0,d=a/2,l=u/2;o.label.points=[{x:i+d,y:s-l},{x:i+d,y:s-l},{x:i,y:s},{x:i-d,y:s+l},{x:i-d,y:s+l},{x:i,y:s},
{x:i,y:s}]}})})}function ut(e,t){return Fe(De(e,t),Number)}function dt(e){let t={};return e&&Object.entries(e).forEach(([n,r])=>{typeof n=="string"&&(n=n.toLowerCase()),
t[n]=r}),t}function Zi(e){let t=Ee(e),n=new z({compound:!0,multigraph:!0}).setGraph({});return e.nodes().forEach(r=>{n.setNode(r,{label:r}),n.setParent(r,"layer"+
e.node(r).rank)}),e.edges().forEach(r=>n.setEdge(r.v,r.w,{},r.name)),t.forEach((r,o)=>{let i="layer"+o;n.setNode(i,{rank:"same"}),r.reduce((s,a)=>(n.setEdge(s,a,
{style:"invis"}),a))}),n}var es={graphlib:En,version:fo,layout:Mi,debug:Zi,util:{time:uo,notime:Mn}},vt=es;var ts=7.3,zn=17;function ns(e){let t=[],n=[],r=e.exports??[];r.forEach((u,d)=>{t.push({id:`export ${u.cluster}`,lines:[`ServiceExport in ${u.cluster}`,u.status+
(d===0&&r.length>1?", oldest":""),(u.ports??[]).join(" ")],tone:["Published","Ready"].includes(u.status)?"":"warning"}),n.push([`export ${u.cluster}`,"merge"])});
let o=(e.values??[]).filter(u=>Object.keys(u.others??{}).length).length;t.push({id:"merge",lines:["merge",o?`${o} conflicts: the oldest wins`:`${(e.values??[]).
length} properties agree`],tone:o?"warning":""});let i=e.import;t.push({id:"import",lines:i?[`ServiceImport in ${e.cluster}`,`${i.type}, ${i.status}`,(i.ips??[]).
join(" ")]:[`no ServiceImport in ${e.cluster}`],tone:i?.status==="Ready"?"good":"error"}),n.push(["merge","import"]);let s=e.records??[];t.push({id:"dns",lines:[
"DNS",...s.length?s.map(u=>`${u.type} ${u.values?.[0]??""}${u.total>1?` and ${u.total-1} more`:""}`):["no answer"],e.dns?.length?`by ${e.dns.join(", ")}`:"not f\
orwarded"],tone:s.length&&e.dns?.length?"good":"error"}),n.push(["import","dns"]);let a=e.derivedService?"service":"import";e.derivedService&&(t.push({id:"servi\
ce",lines:["derived Service",e.derivedService]}),n.push(["import","service"]));for(let u of e.sources??[]){let l=(e.endpoints??[]).filter(f=>f.cluster===u.cluster).
filter(f=>f.state==="Standby");t.push({id:`endpoints ${u.cluster}`,lines:[`endpoints of ${u.cluster}`,`${u.readyHere} ready of ${u.imported}`,l.length?`${l.length}\
 on standby (${l[0].reason})`:""],tone:u.readyHere?"good":l.length?"warning":"error"}),n.push([a,`endpoints ${u.cluster}`])}return{nodes:t.map(u=>({...u,lines:u.
lines.filter(Boolean).map(rs)})),edges:n}}function rs(e){return e.length>40?e.slice(0,39)+"\u2026":e}function Gn({detail:e}){let{nodes:t,edges:n}=ns(e),r=new vt.
graphlib.Graph().setGraph({rankdir:"LR",nodesep:12,ranksep:36,marginx:4,marginy:4}).setDefaultEdgeLabel(()=>({}));for(let s of t)r.setNode(s.id,{width:Math.max(
...s.lines.map(a=>a.length))*ts+20,height:s.lines.length*zn+14});for(let[s,a]of n)r.setEdge(s,a);vt.layout(r);let{width:o=0,height:i=0}=r.graph();return c("div",
{class:"scroll",tabIndex:0,role:"region","aria-label":"The way of the service",children:c("svg",{class:"flow",role:"img","aria-label":t.map(s=>s.lines.join(" ")).
join("; "),width:o,height:i,viewBox:`0 0 ${o} ${i}`,children:[r.edges().map(s=>c("path",{class:"edge",d:`M${r.edge(s).points.map(a=>`${a.x} ${a.y}`).join("L")}`})),
t.map(s=>{let a=r.node(s.id);return c("g",{class:s.tone,transform:`translate(${a.x-a.width/2} ${a.y-a.height/2})`,children:[c("rect",{width:a.width,height:a.height,
rx:5}),s.lines.map((u,d)=>c("text",{x:10,y:zn*(d+1)+1,class:d?"":"head",children:u}))]})})]})})}function Xn(){let{overview:e,services:t}=V(),{rest:n,query:r}=U(),o=n.join("/"),i=t.get(o);if(!e)return c(F,{children:"Reading the clusters."});let s=ve(e),a=r.
get("cluster")||(s.find(u=>i?.imports?.[u.id])??s[0])?.id||"";return c($,{children:[c(W,{children:o}),!i&&c(F,{children:"No cluster that is read exports or impo\
rts this service."}),i&&c(os,{row:i}),!D&&s.length>0&&c($,{children:[c("h2",{children:c(X,{label:"As seen from",value:a,of:s.map(u=>[u.id,u.id]),onChange:u=>Y({
cluster:u})})}),c(ss,{id:o,cluster:a,seen:JSON.stringify(i??null)+e.clusters.map(q).join()})]}),D&&c(is,{row:i})]})}function os({row:e}){return c(ee,{label:"The\
 service in each cluster",heads:["Cluster","Export","Import","Ready","From"],children:Q(I.overview).map(t=>{let[n,r]=[e.exports?.[t.id],e.imports?.[t.id]];return c(
"tr",{class:q(t)?"stale":"",children:[c("th",{scope:"row",children:[t.id," ",q(t)&&c("span",{class:"tag",children:q(t)})]}),c("td",{children:n&&c(Kn,{cell:n})}),
c("td",{children:r&&c(Kn,{cell:r})}),c("td",{children:r&&(r.u?"unknown":`${r.r??0} of ${r.n??0}`)}),c("td",{children:Object.entries(r?.f??{}).sort().map(([o,[i,
s]])=>`${o}: ${i}${s?` (+${s} on standby)`:""}`).join(", ")})]})})})}function Kn({cell:e}){return c($,{children:[e.p&&c(be,{of:e.p})," ",e.s,e.m&&c("span",{class:"\
small",children:[": ",e.m]})]})}function is({row:e}){return e?.conflicts?.length?c($,{children:[c("h2",{children:"Conflicts"}),c(Jn,{all:e.conflicts})]}):null}function Jn({
all:e,why:t}){return c(ee,{label:"Merged properties",heads:["Property","Value","From","Others want"],children:e.map(n=>c("tr",{children:[c("th",{scope:"row",children:n.
property}),c("td",{children:n.using}),c("td",{children:[n.from,t&&n.others?` (${t})`:""]}),c("td",{children:Pe(n)})]}))})}function ss({id:e,cluster:t,seen:n}){let r=ae(
`${e} ${t}`,n,15,i=>se("explain",{service:e,cluster:t},i)),o=r.value;return c("section",{"aria-busy":r.loading,children:[r.loading&&!o&&c(F,{children:["Reading ",
t,"."]}),r.error&&c(F,{children:r.error}),o&&c($,{children:[c("p",{children:[c("code",{children:o.name})," ",c("strong",{class:`verdict ${o.verdict==="works"?"g\
ood":o.verdict==="does not work"?"bad":"warn"}`,children:o.verdict})," in ",o.cluster,". ",c("span",{class:"small",children:["Read ",Z(r.at),"."]})]}),c(Gn,{detail:o}),
c("h3",{children:"Findings"}),c(Me,{all:o.findings}),o.values&&c($,{children:[c("h3",{children:"Merged properties"}),c(Jn,{all:o.values,why:"oldest export"})]}),
c("h3",{children:"Endpoints"}),c(ee,{label:"Endpoints",heads:["Address","Cluster","State","Ports","Zone"],children:(o.endpoints??[]).slice(0,500).map(i=>c("tr",
{children:[c("th",{scope:"row",children:i.addresses.join(" ")}),c("td",{children:i.cluster}),c("td",{children:i.state+(i.reason?` (${i.reason})`:"")}),c("td",{children:(i.
ports??[]).join(" ")}),c("td",{children:i.zone})]}))}),(o.endpoints?.length??0)>500&&c("p",{class:"small",children:["The first 500 of ",o.endpoints.length,"."]}),
c("h3",{children:"Commands"}),o.commands.map(i=>c("p",{children:c(re,{text:i})})),c("h3",{children:"Objects"}),(o.objects??[]).map(i=>c("details",{children:[c("\
summary",{children:i.name}),c("pre",{tabIndex:0,children:i.yaml})]}))]})]})}var ue=30,Qn=10,as=[["","all"],["problem","with problems"],["conflict","in conflict"],["standby","with standby"],["unserved","without a ready endpoint"]];function ls(e,t,n){
let r=o=>n?[o?.[n]].filter(i=>i!==void 0):Object.values(o??{});switch(t){case"problem":return[...r(e.exports),...r(e.imports)].some(o=>o.p);case"conflict":return!!e.
conflicts?.length;case"standby":return r(e.imports).some(o=>o.b);case"unserved":return r(e.imports).some(o=>!o.r&&!o.u)}return!n||r(e.exports).length+r(e.imports).
length>0}function us(e,t,n,r,o){let i=t.toLowerCase().split(/\s+/).filter(Boolean);return e.filter(s=>(!n||s.id.startsWith(n+"/"))&&i.every(a=>s.id.includes(a))&&
(!r&&!o||ls(s,r,o)))}function tr(){let{overview:e,sorted:t,version:n}=V(),{query:r}=U(),[o,i,s,a]=["q","ns","state","cluster"].map(p=>r.get(p)??""),u=me(null),d=Te(
()=>us(t,o,i,s,a),[n,o,i,s,a]),l=Te(()=>[...new Set(t.map(p=>p.id.split("/")[0]))],[t]);if(G(()=>{let p=h=>{h.key==="/"&&!h.target.closest("input, select, texta\
rea")&&(h.preventDefault(),u.current?.focus())};return addEventListener("keydown",p),()=>removeEventListener("keydown",p)},[]),!e)return c(F,{children:"Reading \
the clusters."});let f=Q(e);return c($,{children:[c(W,{children:"Services"}),c("form",{class:"filter",role:"search",onSubmit:p=>p.preventDefault(),children:[c("\
label",{children:["Filter ",c("kbd",{"aria-hidden":"true",children:"/"})," ",c("input",{ref:u,type:"search",value:o,"aria-keyshortcuts":"/",onInput:p=>Y({q:p.currentTarget.
value})})]}),c(X,{label:"Namespace",value:i,of:[["","all"],...l.map(p=>[p,p])],onChange:p=>Y({ns:p})}),c(X,{label:"State",value:s,of:as,onChange:p=>Y({state:p})}),
c(X,{label:"Cluster",value:a,of:[["","all"],...f.map(p=>[p.id,p.id])],onChange:p=>Y({cluster:p})}),c("output",{"aria-live":"polite",children:[d.length," of ",t.
length]})]}),c(ds,{rows:d,clusters:a?f.filter(p=>p.id===a):f}),c("p",{class:"small",children:[c("span",{class:"legend",children:"\u2191 exports"}),c("span",{class:"\
legend",children:"\u2193 imports: ready endpoints of all, + on standby"}),c("span",{class:"legend",children:"\u2260 conflict"})]})]})}function ds({rows:e,clusters:t}){
let n=me(null),[r,o]=B(0),[i,s]=B(600),[a,u]=B(0);G(()=>{let p=new ResizeObserver(()=>s(n.current?.clientHeight??600));return p.observe(n.current),()=>p.disconnect()},
[]);let d=Math.max(0,Math.min(Math.floor(r/ue)-Qn,e.length-1)),l=Math.min(e.length,Math.ceil((r+i)/ue)+Qn);return c("div",{class:"scroll services",ref:n,tabIndex:0,
role:"region","aria-label":"Services and clusters",onScroll:p=>o(p.currentTarget.scrollTop),onKeyDown:p=>{let h={ArrowDown:1,ArrowUp:-1,PageDown:15,PageUp:-15,Home:-e.
length,End:e.length}[p.key];if(!h||!e.length)return;p.preventDefault();let _=Math.max(0,Math.min(e.length-1,a+h));u(_);let w=_*ue,b=n.current;w<b.scrollTop?b.scrollTop=
w:w+2*ue>b.scrollTop+b.clientHeight&&(b.scrollTop=w+2*ue-b.clientHeight),requestAnimationFrame(()=>requestAnimationFrame(()=>b.querySelector(`[data-at="${_}"] a`)?.
focus({preventScroll:!0})))},children:c("table",{"aria-rowcount":e.length+1,children:[c("thead",{children:c("tr",{"aria-rowindex":1,children:[c("th",{scope:"col",
children:"Service"}),t.map(p=>c("th",{scope:"col",class:q(p)?"stale":"",title:q(p),children:p.id}))]})}),c("tbody",{children:[d>0&&c("tr",{class:"space","aria-h\
idden":"true",ref:p=>{p?.style.setProperty("height",`${d*ue}px`)}}),e.slice(d,l).map((p,h)=>c("tr",{"data-at":d+h,"aria-rowindex":d+h+2,children:[c("th",{scope:"\
row",children:[c("a",{href:ce(p.id),onFocus:()=>u(d+h),children:p.id}),p.conflicts?.length?c("a",{class:"tag conflict",href:`#/conflicts?q=${p.id}`,"aria-label":`${p.
conflicts.length} conflicts`,tabIndex:-1,children:"\u2260"}):null]}),t.map(_=>c(cs,{row:p,c:_}))]},p.id)),l<e.length&&c("tr",{class:"space","aria-hidden":"true",
ref:p=>{p?.style.setProperty("height",`${(e.length-l)*ue}px`)}})]})]})})}function cs({row:e,c:t}){let n=e.exports?.[t.id],r=e.imports?.[t.id],o=[n,r].map(s=>s?.
p).sort((s,a)=>Zn(s)-Zn(a))[0],i=[n&&`exports: ${er(n)}`,r&&`imports: ${er(r)}, ${r.u?"endpoints unknown":`${r.r??0} of ${r.n??0} endpoints ready`}${r.b?`, ${r.
b} on standby`:""}`,q(t)].filter(Boolean);return c("td",{class:`${o??""} ${q(t)?"stale":""}`,title:i.join(`
`),children:[!n&&!r&&t.unread?.length?"?":"",n&&"\u2191",r&&(r.u?" \u2193 ?":` \u2193 ${r.r??0}/${r.n??0}`),r?.b?` +${r.b}`:"",o&&c("span",{class:"hidden",children:o})]})}
function Zn(e){return["error","warning","pending",void 0].indexOf(e)}function er(e){return e.s+(e.m?` (${e.m})`:"")}var nr={clusters:["Clusters",Gt],services:["Services",tr],conflicts:["Conflicts",Xt],checks:["Checks",Jt],events:["Events",Qt],"what-if":["What if",Zt]};function hs(){
let{overview:e,connected:t}=V(),{page:n}=U(),r=n==="service"?Xn:nr[n]?.[1];return c($,{children:[c("a",{class:"skip",href:"#main",onClick:o=>(o.preventDefault(),
document.getElementById("main")?.focus()),children:"Skip to the content"}),c("header",{children:[c("strong",{children:["Atoll ",e?.clusterset]}),c("nav",{"aria-\
label":"Pages",children:Object.entries(nr).map(([o,[i]])=>c("a",{href:`#/${o}`,"aria-current":o===n||o==="services"&&n==="service"?"page":void 0,children:i}))}),
c("span",{class:`live ${t?"good":"bad"}`,role:"status",children:D?`snapshot of ${new Date(D.overview.at).toLocaleString()}`:t?"live":"not connected"})]}),c("mai\
n",{id:"main",tabIndex:-1,class:t?"":"stale",children:[!t&&e&&c(F,{children:"atoll console does not answer: what is shown is old. If it has ended, run it again."}),
r?c(r,{}):c(W,{children:["There is no page ",n]})]})]})}zt();It(c(hs,{}),document.getElementById("app"));})();
