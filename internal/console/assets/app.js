"use strict";(()=>{var I,Et,sr,te,Be,Se,kt,xe,xt,Ve,qe,ir,pe=Symbol.for("pv"),je={},$e=[],ar=/^m(i|n|o|s|text|space)$/,We=Array.isArray,Nt=$e.slice,se=Object.assign;function oe(e){
e&&e.parentNode&&e.remove()}function Ne(e,t,n,r,o){var s={type:e,props:t,key:n,ref:r,__k:null,__:null,__b:0,__e:null,__c:null,constructor:pe,__v:o||++Et,__i:-1,__u:0};return!o&&I.vnode&&I.
vnode(s),s}function $(e){return e.children}function Oe(e,t){this.props=e,this.context=t,this.__g=0}function ne(e,t){if(t==null)return e.__&&ne(e.__,e.__i+1);for(var n;t<e.
__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:ne(e)}function lr(e){var t,n=e.__v,r=n.__e,o=[],s=[],i=e.__P;
i&&((t=se({constructor:pe},n)).__v=n.__v+1,I.vnode&&I.vnode(t),Ue(i,t,n,e.__n,i.namespaceURI,32&n.__u?[r]:null,o,r||ne(n),32&n.__u,s),t.__v=n.__v,t.__.__k[t.__i]=
t,It(o,t,s),n.__=n.__e=null,t.__e!=r&&Ot(t))}function Ot(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),
Ot(e)}function wt(e){(8&e.__g||(e.__g|=8,te.push(e),Se++))&&Be==I.debounceRendering||((Be=I.debounceRendering)||queueMicrotask)(Ct)}function Ct(){try{for(var e,
t=1;te.length;)te.length>t&&te.sort(kt),e=te.shift(),t=te.length,8&e.__g&&lr(e)}finally{(Se=te.length)&&(Be||queueMicrotask)(Ct)}}function St(e,t,n,r,o,s,i,a,u,d,l){
var f,p,h,_,w,b,y=r.__k||$e,g=t.length;for(u=ur(n,t,y,u,g),f=0;f<g;f++)(h=n.__k[f])!=null&&(p=~h.__i&&y[h.__i]||je,h.__i=f,b=Ue(e,h,p,o,s,i,a,u,d,l),_=h.__e,(p.
ref!=h.ref||8&p.__u)&&(p.ref&&Ye(p.ref,null,h,p),h.ref&&l.push(h.ref,h.__c||_,h)),w=w||_,4&h.__u?(u=jt(h,u,e,!p.__v),p.__e&&(p.__e=null)):typeof h.type=="functi\
on"&&b!==void 0?u=b:_&&(u=_.nextSibling),h.__u&=-21);return n.__e=w,u}function ur(e,t,n,r,o){var s,i,a,u,d,l,f,p,h,_=n.length,w=_,b=0,y=0,g=e.__k=Array(o);for(s=
0;s<o;s++)(i=t[s])!=null&&typeof i!="boolean"&&typeof i!="function"?(typeof i!="object"||i.constructor===String?i=g[s]=Ne(null,i):We(i)?i=g[s]=Ne($,{children:i}):
i.constructor===pe&&i.__b?i=g[s]=Ne(i.type,i.props,i.key,i.ref,i.__v):g[s]=i,u=s+b,i.__=e,i.__b=e.__b+1,a=null,~(d=i.__i=dr(i,n,u,w))&&(w--,(a=n[d])&&(a.__u|=2)),
a&&a.__v?(i.__u|=16,d==u-1?b--:d==u+1?b++:d!=u&&(d>u?b--:b++,y=1)):(~d||(o>_?b--:o<_&&b++),typeof i.type!="function"&&(i.__u|=4))):g[s]=null;if(y){for(l=[],f=[],
s=0;s<o;s++)if((i=g[s])&&16&i.__u){for(b=0,p=l.length;b<p;)l[h=b+p>>1]<i.__i?b=h+1:p=h;l[b]=i.__i,f[s]=b+1}for(b=l.length;s--;)f[s]&&(f[s]==b?b--:g[s].__u|=4)}if(w)
for(s=0;s<_;s++)!(a=n[s])||2&a.__u||(a.__e==r&&(r=ne(a)),ze(a,a));return r}function jt(e,t,n,r){var o,s,i,a;if(typeof e.type=="function"){if(e.props.__P)return t;
if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&(o[s].__=e,t=jt(o[s],t,n,!1));return t}for(t&&!t.parentNode&&(t=ne(e))&&!t.parentNode&&(t=null),i=e.__e,a=t;a&&a.nodeType==
8;)a=a.nextSibling;for(i!=a&&(!r&&n.moveBefore&&i.parentNode?n.moveBefore(i,t):n.insertBefore(i,t||null)),t=i;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith(
"$s"););return t}function dr(e,t,n,r){var o,s=e.key,i=e.type,a=t[n],u=a&&!(2&a.__u);if(a===null&&s==null||u&&s==a.key&&i==a.type)return n;if(r>(u?1:0)){for(o=n-1;o>=0;o--)if((a=
t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o;for(o=n+1;o<t.length;o++)if((a=t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o}return-1}function yt(e,t,n){n==null&&
(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function ke(e,t,n,r,o){var s,i;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof r=="string"&&(e.style.
cssText=r=""),r)for(t in r)n&&t in n||yt(e.style,t);if(n)for(t in n)r&&n[t]==r[t]||yt(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),
typeof r!="function"&&(r=null),(e.__e||(e.__e={}))[t]=n,n&&r||(i=qe[t]||(qe[t]=cr(t)),(e.__a||(e.__a={}))[t]=Ve,s=t!=(t=t.replace(xt,"$1")),(t=t.slice(2))[0]<"a"&&
(t=t.toLowerCase()),n?e.addEventListener(t,i,s):e.removeEventListener(t,i,s));else{if(o=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,
"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)
try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function cr(e){
return function(t){var n=this.__e;if(n){if(n=n[e],t[xe]==null)t[xe]=Ve++;else if(t[xe]<this.__a[e])return;return n(I.event?I.event(t):t)}}}function Ue(e,t,n,r,o,s,i,a,u,d){
var l,f,p,h,_,w,b,y,g,v,m,E,j,L,k,M,R,C,x=t.type;if(t.constructor!==pe)return null;128&n.__u&&(u=32&n.__u,l=n.__c.__z)&&(t.__u|=u,f=s=[],l.nodeType==8?a=Ce(l,s):
s.push(l),a=s[0]||a),(l=I.__b)&&l(t);e:if(typeof x=="function"){p=i.length;try{if(y=t.props,g=(l=x.prototype)&&l.render,v=(l=x.contextType)&&r[l.__c],m=l?v?v.props.
value:l.__:r,(h=n.__c)?(t.__c=h,2&h.__g&&(h.__g|=1)):(g?t.__c=h=new x(y,m):(t.__c=h=new Oe(y,m),h.constructor=x,h.render=fr),v&&v.sub(h),h.state||(h.state={}),h.
__n=r,h.__g|=8,h.__h=[],h.__k=[]),g&&(h.__s||(h.__s=h.state),x.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=se({},h.__s)),se(h.__s,x.getDerivedStateFromProps(
y,h.__s)))),_=h.props,w=h.state,h.__v=t,n.__c){if(y!==_&&g&&!x.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(y,m),t.__v==n.
__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(y,h.__s,m)===!1){t.__v!=n.__v&&(h.props=y,h.state=h.__s,h.__g&=-9),t.__e=n.__e,t.__k=
n.__k,t.__k.some(function(N){N&&(N.__=t)}),$e.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&i.push(h),a=ne(n);break e}h.componentWillUpdate&&h.componentWillUpdate(
y,h.__s,m),g&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(_,w,b)})}else g&&!x.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),
g&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=m,h.props=y,h.__P=e,h.__g&=-5,E=I.__r,j=g?25:0;do h.__g&=-9,E&&E(t),l=h.render(h.props,h.state=
h.__s,h.context);while(8&h.__g&&++j<25);g&&($e.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(r=se({},r,h.getChildContext())),g&&n.__c&&h.getSnapshotBeforeUpdate&&
(b=h.getSnapshotBeforeUpdate(_,w)),L=l&&l.type===$&&l.key==null?l.props.children:l,y.__P&&(l=a,o=(e=y.__P).namespaceURI,u=s=null,n.props&&n.props.__P!=e&&(n.__k.
some(function(N){N&&ze(N,N)}),n.__k=null),a=n.__k?ne(n,0):null),a=St(e,We(L)?L:[L],t,n,r,o,s,i,a,u,d),y.__P&&(t.__e=null,a=l),t.__u&=-161,f&&f.some(oe),h.__h.length&&
i.push(h),1&h.__g&&(h.__g&=-4)}catch(N){if(i.length=p,t.__v=null,u||s)if(N&&N.then){if(t.__u|=128|u,s){for(~(R=s.indexOf(a||void 0))||(R=s.length);(C=s[R-1])&&C.
nodeType==8;)R--;for(;R<s.length;R++)if(C=s[R])if(s[R]=null,k){if(C==M)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(M=Ce(k=C))}}if(!k){for(;a&&a.
nodeType==8&&a.nextSibling;)a=a.nextSibling;k=a}(l=Ce(k=t.__c.__z||(t.__c.__z=k)))?(t.__e=k,a=l):t.__e=a,a=a&&a.nextSibling}else s&&s.some(oe);else t.__e=n.__e;
t.__k||(t.__k=n.__k||[]),N&&N.then||$t(t),I.__e(N,t,n)}}else a=t.__e=hr(n.__e,t,n,r,o,s,i,u,d,e);return(l=I.diffed)&&l(t),a}function Ce(e,t){if(e&&e.nodeType==8&&
e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(
e)}}function $t(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some($t))}function It(e,t,n){for(var r=0;r<n.length;)Ye(n[r++],n[r++],n[r++]);I.__c&&I.__c(t,e),e.some(
function(o){try{e=o.__h,o.__h=[],e.some(function(s){s.call(o)})}catch(s){I.__e(s,o.__v)}})}function hr(e,t,n,r,o,s,i,a,u,d){var l,f,p,h,_,w,b,y,g=n.props||je,v=t.
props,m=t.type;if(m=="svg"?o="http://www.w3.org/2000/svg":m=="math"?o="http://www.w3.org/1998/Math/MathML":o||(o="http://www.w3.org/1999/xhtml"),s){for(l=0;l<s.
length;l++)if((_=s[l])&&(m?_.localName==m:_.nodeType==3)){e=_,s[l]=null;break}}if(!e){if(y=d.ownerDocument||document,!m)return y.createTextNode(v);e=y.createElementNS(
o,m,v.is?v:d),a&&(I.__m&&I.__m(t,s),a=!1),s=null}if(m){if(d=m=="template"&&e.content||e,s=m=="textarea"&&v.defaultValue!=null?null:s&&Nt.call(d.childNodes),!a&&
s)for(g={},l=0;l<e.attributes.length;l++)g[(_=e.attributes[l]).name]=_.value;for(l in g)_=g[l],l=="dangerouslySetInnerHTML"?p=_:l=="children"||l in v||l=="value"&&
"defaultValue"in v||l=="checked"&&"defaultChecked"in v||ke(e,l,null,_,o);for(l in v)_=v[l],l=="children"?h=_:l=="dangerouslySetInnerHTML"?f=_:l=="value"?w=_:l==
"checked"?b=_:a&&typeof _!="function"||g[l]===_||ke(e,l,_,g[l],o);f?(a||p&&(f.__html==p.__html||f.__html==e.innerHTML)||(e.innerHTML=f.__html),t.__k=[]):(p&&(e.
textContent=""),(m=="foreignObject"||o=="http://www.w3.org/1998/Math/MathML"&&ar.test(m))&&(o="http://www.w3.org/1999/xhtml"),St(d,We(h)?h:[h],t,n,r,o,s,i,s?s[0]:
n.__k&&ne(n,0),a,u),s&&s.some(oe)),a&&m!="textarea"||(l="value",m=="progress"&&w==null?e.removeAttribute(l):w==null||w===e[l]&&(m!="progress"||w)||ke(e,l,w,g[l],
o),l="checked",b!=null&&b!=e[l]&&ke(e,l,b,g[l],o))}else g===v||a&&e.data==v||(e.data=v);return e}function Ye(e,t,n,r){try{typeof e=="function"?t?t.__x=e(t)||1:r&&
(r=r.__c||r.__e)&&(t=r.__x)&&(r.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(o){I.__e(o,n)}}function ze(e,t,n){var r,o,s,i;if(I.unmount&&I.unmount(
e),!(r=e.ref)||r.current&&r.current!=e.__e||Ye(r,null,t,e),r=e.__c){if(r.componentWillUnmount)try{r.componentWillUnmount()}catch(a){I.__e(a,t)}r.__P=r.__n=null}
if(r=e.__k)for(i=0;i<r.length;i++)r[i]&&ze(r[i],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(r=e.__c)&&(r=r.__z)&&(o=Ce(r,s=[]))&&(r==e.__e&&s.some(oe),oe(
o),oe(r)),n||oe(e.__e),e.__e=e.__c=e.__=null}function fr(e,t,n){return this.constructor(e,n)}function Tt(e,t){var n,r,o,s;I.__&&I.__(e,t),t.nodeType==9&&(t=t.documentElement),
r=(n=e&&32&e.__u)?null:t.__k,t.__k=Ne($,{children:[e]}),o=[],s=[],Ue(t,t.__k,r||je,je,t.namespaceURI,r?null:t.firstChild?Nt.call(t.childNodes):null,o,r?r.__e:t.
firstChild,n,s),It(o,t.__k,s),t.__k.props.children=null}I={__e:function(e,t,n,r){for(var o,s,i;t=t.__;)if((o=t.__c)&&!(1&o.__g)){o.__g|=4;try{if((i=(s=o.constructor)&&s.getDerivedStateFromError)&&o.setState(s.getDerivedStateFromError(
e)),o.componentDidCatch&&(o.componentDidCatch(e,r||{}),i=1),i&&8&o.__g)return void(o.__g|=2)}catch(a){e=a}}throw Se=0,e}},Et=0,sr=function(e){return e!=null&&e.
constructor===pe},Oe.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=se({},this.state)),typeof e=="function"&&(e=e(se({},n),this.props)),
e&&(se(n,e),this.__v&&(t&&this.__k.push(t),wt(this)))},Oe.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),wt(this))},Oe.prototype.render=
$,te=[],Se=0,kt=function(e,t){return e.__v.__b-t.__v.__b},xe=Symbol(),xt=/(PointerCapture)$|Capture$/i,Ve=0,qe={},ir=0;var _e,H,Ge,Mt,Ke=Object.is,Ie=0,qt=[],Xe=[],A=I,Pt=A.__b,Lt=A.__r,Rt=A.diffed,Dt=A.__c,Ft=A.unmount,At=A.__;function Qe(e,t){A.__h&&A.__h(H,e,Ie||t),Ie=0;var n=H.
__H||(H.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function q(e){return Ie=1,pr(Wt,e)}function pr(e,t,n){var r=Qe(_e++,2);if(r.t=e,!r.__c&&
(r.__=[n?n(t):Wt(void 0,t),function(s){var i=(r.__N||r.__)[0],a=r.t(i,s);Ke(i,a)||(r.__N=[a,r.__[1]],r.__c.setState({}))}],r.__c=H,!H.__f)){H.__f=!0;var o=H.shouldComponentUpdate;
H.shouldComponentUpdate=function(s,i,a){var u=this.__H;if(!u)return!0;var d=!1,l=this.props!=s;if(u.__.some(function(p){p.__N&&(d=!0,Ke(p.__[0],p.__N[0])||(l=!0))}),
o){var f=o.call(this,s,i,a);return d?f||l:f}return!d||l}}return r.__}function G(e,t){var n=Qe(_e++,3);!A.__s&&Vt(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,H.__H.__h.push(
n))}function me(e){return Ie=5,Te(function(){return{current:e}},[])}function Te(e,t){var n=Qe(_e++,7);return Vt(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function gr(){var e;do{for(;e=Xe.shift();)try{ge(e)}catch(n){A.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=qt.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(ge),t.__h.
some(Je),t.__h=[]}catch(n){t.__h=[],A.__e(n,e.__v)}}}while(Xe.length)}A.__b=function(e){H=null,Pt&&Pt(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),
At&&At(e,t)},A.__r=function(e){Lt&&Lt(e),_e=0;var t=(H=e.__c).__H;t&&(Ge==H?H.__h=[]:(t.__h.some(ge),t.__h.some(Je),_e=0),t.__h=[],t.__.some(function(n){n.__N&&
(n.__=n.__N),n.u=n.__N=void 0})),Ge=H},A.diffed=function(e){Rt&&Rt(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Bt(qt.push(t)),t.__H.__.some(function(n){n.u&&(n.
__H=n.u)})),Ge=H=null},A.__c=function(e,t){t.some(function(n){try{n.__h.some(ge),n.__h=n.__h.filter(function(r){return!r.__||Je(r)})}catch(r){n.__h=[function(){
throw r}]}}),Dt&&Dt(e,t)},A.unmount=function(e){Ft&&Ft(e);var t,n,r=e.__c;r&&r.__H&&(r.__H.__.some(function(o){try{if(o.__P&&o.__c){if(n===void 0){for(n=e.__;n&&
(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}o.__P=n,Bt(Xe.push(o))}else ge(o)}catch(s){t=s}}),r.__H=void 0,t&&A.__e(t,r.__v))};var Ht=typeof requestAnimationFrame==
"function";function _r(e){var t,n=function(){clearTimeout(r),Ht&&cancelAnimationFrame(t),setTimeout(e)},r=setTimeout(n,35);Ht&&(t=requestAnimationFrame(n))}function Bt(e){
e!=1&&Mt==A.requestAnimationFrame||((Mt=A.requestAnimationFrame)||_r)(gr)}function ge(e){var t=H,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),H=t}function Je(e){
var t=H;e.__c=e.__(),H=t}function Vt(e,t){return!e||e.length!=t.length||t.some(function(n,r){return!Ke(n,e[r])})}function Wt(e,t){return typeof t=="function"?t(
e):t}var mr=1e3,vr=25e3,Ut=document.getElementById("snapshot"),F=Ut?JSON.parse(Ut.textContent??"null"):null,T={overview:null,services:new Map,sorted:[],log:[],connected:!1,
version:0},et=new Set,Ze=!1;function tt(){T.version++,!Ze&&(Ze=!0,requestAnimationFrame(()=>{Ze=!1;for(let e of et)e()}))}function V(){let[,e]=q(0);return G(()=>{
let t=()=>e(n=>n+1);return et.add(t),()=>{et.delete(t)}},[]),T}function K(e,t,n=!1){T.log.unshift({at:Date.now(),about:e,text:t,worse:n}),T.log.length=Math.min(
T.log.length,mr)}var Me=new Map,br=3e3;function wr(e){let t=(n,r)=>{r?Me.has(n)||Me.set(n,Date.now()):Me.delete(n)};t("",e.broker.read);for(let n of e.clusters)
t(n.id,n.context?n.state==="read":e.broker.read)}var Yt=e=>Date.now()-(Me.get(e)??Date.now())>br;function yr(e,t,n){let r=[["exports","export"],["imports","impo\
rt"]];for(let[s,i]of r){let a=t?.[s]??{},u=n?.[s]??{};for(let d of new Set([...Object.keys(a),...Object.keys(u)])){let l=a[d],f=u[d];Yt(d)&&(f?l?l.s!==f.s?K(e,`${i}\
 in ${d}: ${l.s} \u2192 ${f.s}`,f.p==="error"):((l.r??0)!==(f.r??0)||(l.b??0)!==(f.b??0))&&K(e,`${d}: ${zt(l)} \u2192 ${zt(f)}`,(f.r??0)===0):K(e,`new ${i} in ${d}\
: ${f.s}`,f.p==="error"):K(e,`${i} in ${d} is gone`,!0))}}if(!Yt(""))return;let o=[t?.conflicts?.length??0,n?.conflicts?.length??0];o[0]!==o[1]&&K(e,`${o[0]} \u2192 ${o[1]}\
 conflicts`,o[1]>o[0])}function zt(e){return`${e.r??0} of ${e.n??0} endpoints ready`+(e.b?`, ${e.b} on standby`:"")}function Er(e,t){let n=new Map(e.clusters.map(
r=>[r.id,r]));for(let r of t.clusters){let o=n.get(r.id)??e.clusters.find(s=>r.context&&s.context===r.context);n.delete(r.id),o&&n.delete(o.id),o?(!o.error!=!r.
error&&K(r.id,r.error?`does not answer: ${r.error}`:"answers again",!!r.error),o.member?.state!==r.member?.state&&K(r.id,`${o.member?.state??"\u2013"} \u2192 ${r.
member?.state??"\u2013"}`,r.member?.state!=="Ready"),(o.member?.drained??"")!==(r.member?.drained??"")&&K(r.id,r.member?.drained?`drained: ${r.member.drained}`:
"no longer drained")):K(r.id,"new cluster")}for(let r of n.keys())K(r,"cluster is gone",!0)}function Gt(e){let t=!T.overview;e.overview&&(T.overview&&!e.all&&Er(
T.overview,e.overview),T.overview=e.overview,wr(e.overview));let n=!1;if(e.all){n=!0;for(let r of T.services.keys())e.services?.[r]||T.services.delete(r)}for(let[
r,o]of Object.entries(e.services??{})){let s=T.services.get(r);t||yr(r,s,o),o?(n||=!s,T.services.set(r,o)):n=T.services.delete(r)||n}n?T.sorted=[...T.services.values()].
sort((r,o)=>r.id<o.id?-1:1):e.services&&(T.sorted=T.sorted.map(r=>T.services.get(r.id)??r)),tt()}function Kt(){if(F){T.connected=!0,Gt(F);return}let e,t=Date.now(),
n=o=>{T.connected!==o&&(T.connected=o,tt())},r=()=>{t=Date.now(),e=new EventSource("/api/live"),e.onmessage=o=>{t=Date.now(),n(!0),Gt(JSON.parse(o.data))},e.addEventListener(
"alive",()=>t=Date.now()),e.onerror=()=>n(!1)};r(),setInterval(()=>{Date.now()-t>vr&&(n(!1),e.close(),r()),tt()},5e3)}async function ie(e,t,n){let r=await fetch(
`/api/${e}?${new URLSearchParams(t)}`,{signal:n});if(!r.ok)throw new Error((await r.text()).trim());return r.json()}function ae(e,t,n,r){let[o,s]=q({loading:!0,
of:e,at:0}),[i,a]=q(0);return G(()=>{let u=new AbortController;return s(d=>d.of===e?{...d,loading:!0}:{of:e,loading:!0,at:0}),r(u.signal).then(d=>s({value:d,loading:!1,
of:e,at:Date.now()}),d=>u.signal.aborted||s({error:String(d.message??d),loading:!1,of:e,at:Date.now()})),()=>u.abort()},[e,t,i]),G(()=>{if(F)return;let u=setInterval(
()=>document.visibilityState==="visible"&&a(d=>d+1),n*1e3);return()=>clearInterval(u)},[n]),o.of===e?o:{loading:!0,at:0}}function Q(e){return e.clusters.filter(
t=>!t.outside)}function ve(e){return Q(e).filter(t=>t.context!==void 0&&t.state!=="unread")}function B(e){return e.state==="unread"?e.context?"not read":"not re\
ad: no context is its own":e.state==="reading"?"reading":e.error?`does not answer, last ${Z(e.answered)}`:e.unread?.length?"not all can be read":""}function Z(e){
return e?kr(((F?.overview?.at??Date.now())-e)/1e3)+" ago":"never"}function kr(e){let t=Math.max(0,Math.round(e));return t<120?`${t} s`:t<7200?`${Math.round(t/60)}\
 min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var xr=Symbol.for("pv"),Nr=0;function c(e,t,n,r,o,s){t||(t={});var i,a,u=t;if("ref"in u&&typeof e!="function")for(a in u={},t)a=="ref"?i=t[a]:u[a]=t[a];var d={type:e,props:u,key:n,ref:i,__k:null,
__:null,__b:0,__e:null,__c:null,constructor:xr,__v:--Nr,__i:-1,__u:0};return(o||s)&&(d.__source=o,d.__self=s),I.vnode&&I.vnode(d),d}function nt(){let[e="",t=""]=location.hash.replace(/^#\/?/,"").split("?"),[n="",...r]=e.split("/").map(Or);return{page:n||"clusters",rest:r,query:new URLSearchParams(
t)}}function Or(e){try{return decodeURIComponent(e)}catch{return e}}function U(){let[e,t]=q(nt);return G(()=>{let n=()=>t(nt());return addEventListener("hashcha\
nge",n),()=>removeEventListener("hashchange",n)},[]),e}function Y(e){let{query:t}=nt();for(let[r,o]of Object.entries(e))o?t.set(r,o):t.delete(r);let n=t.toString();
history.replaceState(null,"",location.hash.split("?")[0]+(n?`?${n}`:"")),dispatchEvent(new HashChangeEvent("hashchange"))}function ce(e){return`#/service/${e}`}
var Cr={error:"\xD7",warning:"\u203C",pending:"\u2026",ok:"\u221A",skipped:"\u2013"};function be({of:e}){return c("span",{class:`mark ${e}`,role:"img","aria-lab\
el":e,children:Cr[e]})}function Pe({all:e}){return e?.length?c("ul",{class:"findings",children:e.map(t=>c("li",{children:[c(be,{of:t.severity})," ",c("strong",{
children:t.about}),": ",t.message,t.do&&c(re,{text:t.do})]}))}):c("p",{class:"good",children:"No problems."})}function re({text:e}){let[t,n]=q(!1);return c("spa\
n",{class:"copy",children:[c("code",{children:e}),c("button",{type:"button",onClick:async()=>{try{await navigator.clipboard.writeText(e),n(!0),setTimeout(()=>n(
!1),1500)}catch{n(!1)}},"aria-label":`Copy: ${e}`,children:t?"copied":"copy"})]})}function P({children:e}){return c("p",{class:"notice",role:"status",children:e})}
function ee(e){return c("div",{class:"scroll",tabIndex:0,role:"region","aria-label":e.label,children:[c("table",{class:e.class,children:[c("thead",{children:c("\
tr",{children:e.heads.map(t=>c("th",{scope:"col",children:t}))})}),c("tbody",{children:e.children})]}),e.note&&c("p",{class:"small",children:e.note})]})}function Le(e){
return Object.entries(e.others??{}).map(([t,n])=>`${t}: ${n}`).join(", ")}function rt({what:e}){return F?c(P,{children:[e," are not in a snapshot."]}):null}function X({
label:e,value:t,of:n,onChange:r}){return c("label",{children:[e," ",c("select",{value:t,onChange:o=>r(o.currentTarget.value),children:n.map(([o,s])=>c("option",
{value:o,selected:o===t,children:s}))})]})}function W({children:e}){let t=me(null);return G(()=>{document.title=`${t.current?.textContent} \u2013 Atoll`,(document.
activeElement===document.body||document.activeElement?.closest("nav"))&&t.current?.focus({preventScroll:!0})},[String(e)]),c("h1",{tabIndex:-1,ref:t,children:e})}function Xt(){let{overview:e}=V(),{query:t}=U();if(!e)return c(P,{children:"Reading the clusters."});let n=e.clusters.find(r=>r.id===t.get("cluster"));return c(
$,{children:[c(W,{children:"Clusters"}),c(st,{}),c("ul",{class:"cards",children:e.clusters.map(r=>c("li",{class:`card ${B(r)?"stale":""} ${Sr(r)}`,children:c(jr,
{c:r})}))}),n&&c($r,{cluster:n}),c("h2",{children:"Who reaches whom"}),c(Tr,{clusters:Q(e)})]})}function st(){let{broker:e}=T.overview;return e.read&&!e.error?c(
"p",{children:["Broker: ",e.server]}):c(P,{children:["The broker ",e.read?`cannot be read now, and has answered last ${Z(e.answered)}`:"cannot be read",": ",e.error||
"connecting",". Without it, conflicts, heartbeats and the exports of clusters that are not read are unknown or old."]})}function Sr(e){return e.member?.state===
"Silent"?"bad":e.member?.drained||e.member?.overBudgetOf?.length||e.unread?.length?"warn":""}function jr({c:e}){let t=e.member,{broker:n}=T.overview,r=n.read&&!n.
error,o=[...T.services.values()].filter(i=>i.exports?.[e.id]?.p==="error"||i.imports?.[e.id]?.p==="error").length,s=[["State",e.outside?e.outside:r?t?t.state:"n\
ot on the broker":`unknown${t?`, last ${t.state}`:""}`],["Heartbeat",t?.heartbeatSeconds===void 0?void 0:Z(T.overview.at-1e3*t.heartbeatSeconds)],["Kubernetes",
t?.kubernetes],["Agent",t?.agent],["Reached by",t?.advertises],["Region",t?.region],["Drained",t?.drained],["Exports",t&&`${t.exports} of at most ${t.exportsLimit}`],
["May export",t&&!t.namespaces.includes("*")?t.namespaces.join(", ")||"nothing":void 0],["Ranges",t?.allowedRanges?.join(", ")],["Budget",t?.overBudgetOf?.length?
`exceeds that of ${t.overBudgetOf.join(", ")}`:void 0]];return c($,{children:[c("h2",{children:[c("a",{href:`#/clusters?cluster=${encodeURIComponent(e.id)}`,children:e.
id}),B(e)&&c("span",{class:"tag",children:B(e)}),t?.drained&&c("span",{class:"tag",children:"drained"})]}),c("dl",{children:s.map(([i,a])=>a&&c($,{children:[c("\
dt",{children:i}),c("dd",{children:a})]}))}),o>0&&c("p",{children:c("a",{href:`#/services?state=problem&cluster=${encodeURIComponent(e.id)}`,children:[o," servi\
ces with errors"]})}),e.error&&e.context&&c("p",{class:"small",children:e.error}),e.unread?.map(i=>c("p",{class:"small",children:i}))]})}function $r({cluster:e}){
let t=ae(e.id,B(e),15,async r=>{if(!F)return ie("status",{cluster:e.id},r);let o=F.status[e.id];if(!o)throw new Error(F.errors[e.id]??"not in the snapshot");return o}),
n=t.value;return c("section",{"aria-labelledby":"status",children:[c("h2",{id:"status",children:["Status of ",e.id]}),t.loading&&c(P,{children:["Reading ",e.id,
"."]}),t.error&&c(P,{children:t.error}),n&&c($,{children:[!F&&c("p",{class:"small",children:["read ",Z(t.at)]}),c("p",{children:[n.components.map(r=>`${r.name}:\
 ${r.ready} of ${r.wanted} ready`).join("; ")||"No component of Atoll.",n.dns?.length?`; DNS: ${n.dns.join(", ")}`:""]}),c(Pe,{all:n.findings})]}),e.on!==void 0&&
e.context&&c(re,{text:`atoll status${e.on}`})]})}var ot={yes:["\u25CF","reached, as far as is known"],silent:["\u25D0","its endpoints do not answer; they are on\
 standby"],withdrawn:["\xD7","unreachable: its endpoints are withdrawn"],unproven:["\u25CB","none of its endpoints has ever answered"],unknown:["?","unknown"],self:[
"\xB7",""]};function Ir(e,t){return e.id===t.id?"self":e.state!=="read"||e.error||!e.knowsLost||e.member?.state!=="Ready"?"unknown":e.withdrawn?.[t.id]?"withdra\
wn":e.silent?.[t.id]?"silent":e.unproven?.[t.id]?"unproven":"yes"}function Tr({clusters:e}){return c(ee,{label:"Who reaches whom",class:"reach",heads:["from \\ t\
o",...e.map(t=>t.id)],note:["yes","silent","withdrawn","unproven","unknown"].map(t=>c("span",{class:"legend",children:[ot[t][0]," ",ot[t][1]]})),children:e.map(
t=>c("tr",{class:B(t)?"stale":"",children:[c("th",{scope:"row",children:t.id}),e.map(n=>{let r=Ir(t,n),[o,s]=ot[r];return c("td",{class:r,title:s&&`${t.id} \u2192 ${n.
id}: ${s}`,children:[c("span",{"aria-hidden":"true",children:o}),c("span",{class:"hidden",children:s})]})})]}))})}function Qt(){let{overview:e,sorted:t}=V(),{query:n}=U(),r=n.get("q")??"";if(!e)return c(P,{children:"Reading the clusters."});let o=t.filter(s=>s.id.includes(r)).
flatMap(s=>(s.conflicts??[]).map(i=>({id:s.id,...i})));return c($,{children:[c(W,{children:"Conflicts"}),c("p",{children:"Exports of one service that differ. Th\
e oldest export decides (KEP-1645)."}),(!e.broker.read||e.broker.error)&&c(st,{}),c("form",{class:"filter",role:"search",onSubmit:s=>s.preventDefault(),children:[
c("label",{children:["Filter ",c("input",{type:"search",value:r,onInput:s=>Y({q:s.currentTarget.value})})]}),c("output",{"aria-live":"polite",children:o.length})]}),
e.broker.read&&!e.broker.error&&o.length===0&&c("p",{class:"good",children:"No conflicts."}),o.length>0&&c(ee,{label:"Conflicts",heads:["Service","Property","In\
 use","From","Others want"],note:o.length>500&&"The first 500.",children:o.slice(0,500).map(s=>c("tr",{children:[c("th",{scope:"row",children:c("a",{href:ce(s.id),
children:s.id})}),c("td",{children:s.property}),c("td",{children:s.using}),c("td",{children:s.from}),c("td",{children:Le(s)})]}))})]})}var Jt=["error","warning",
"skipped","ok"];function Zt(){let{overview:e}=V(),[t,n]=q("");if(!e)return c(P,{children:"Reading the clusters."});let{checks:r}=e,o=async()=>{let a=await fetch(
"/api/checks",{method:"POST"});n(a.ok?"":await a.text())},s=[...r.results??[]].sort((a,u)=>Jt.indexOf(a.status)-Jt.indexOf(u.status)),i=a=>s.filter(u=>u.status===
a).length;return c($,{children:[c(W,{children:"Checks"}),c(rt,{what:"Runs of checks"}),c("p",{children:["The checks that need no test pods: a console creates no\
thing. ",r.command&&c($,{children:"All checks: "})]}),r.command&&c(re,{text:r.command}),!F&&c("p",{children:[c("button",{type:"button",onClick:o,disabled:r.running,
children:r.running?"Running":"Run the checks"})," ",r.running&&c("progress",{max:r.of,value:r.read,"aria-label":"Clusters read"})]}),(t||r.error)&&c(P,{children:t||
r.error}),s.length>0&&c("p",{role:"status",children:[i("error")," errors, ",i("warning")," warnings, ",i("skipped")," skipped, ",i("ok")," passed",r.ended?`, ${Z(
r.ended)}`:""]}),c("ul",{class:"findings",children:s.map(a=>c("li",{children:[c(be,{of:a.status})," ",c("strong",{children:[a.cluster,a.from&&`${a.from} \u2192 ${a.
to}`].filter(Boolean).join(" ")})," ",a.id," ",a.title,a.message&&a.status!=="ok"?`: ${a.message}`:"",a.hint&&c(re,{text:a.hint})]}))})]})}function en(){let{log:e,
overview:t}=V(),{query:n}=U();if(!t)return c(P,{children:"Reading the clusters."});let r=ve(t),o=n.get("cluster")||r[0]?.id||"";return c($,{children:[c(W,{children:"\
Events"}),!F&&c($,{children:[c("h2",{children:"Changed since the page was opened"}),e.length===0&&c("p",{children:"Nothing yet."}),c("ol",{class:"log","aria-liv\
e":"polite",children:e.slice(0,300).map(s=>c("li",{class:s.worse?"worse":"",children:[c("time",{children:new Date(s.at).toLocaleTimeString()})," ",s.about.includes(
"/")?c("a",{href:ce(s.about),children:s.about}):c("strong",{children:s.about})," ",s.text]}))})]}),c("h2",{children:c(X,{label:"Events of",value:o,of:r.map(s=>[
s.id,s.id]),onChange:s=>Y({cluster:s})})}),c(Mr,{cluster:o})]})}function Mr({cluster:e}){let t=ae(e,"",15,async n=>{if(!F)return ie("events",{cluster:e},n);let r=F.
events[e];if(!r)throw new Error(F.errors[e]??"not in the snapshot");return r});return c("section",{"aria-busy":t.loading,children:[t.error&&c(P,{children:t.error}),
t.value?.all.length===0&&c("p",{children:"Atoll has no Events there."}),t.value?.more&&c(P,{children:"There are more Events than are shown: some are missing."}),
c("ol",{class:"log",children:(t.value?.all??[]).slice(0,300).map(n=>c("li",{class:n.type==="Warning"?"worse":"",children:[c("time",{dateTime:n.at,children:new Date(
n.at).toLocaleString()})," ",c("strong",{children:n.about})," ",n.reason,": ",n.message]}))})]})}function tn(){let{overview:e}=V(),{query:t}=U();if(!e)return c(
P,{children:"Reading the clusters."});let n=t.get("without")??"",r=ve(e),o=t.get("cluster")||r.find(s=>s.id!==n)?.id||"";return c($,{children:[c(W,{children:"Wh\
at if"}),c("p",{children:"Who would serve each service without a cluster, as of now."}),c(rt,{what:"Predictions"}),!F&&c($,{children:[c("form",{class:"filter",onSubmit:s=>s.
preventDefault(),children:[c(X,{label:"Without",value:n,of:[["","choose a cluster"],...Q(e).map(s=>[s.id,s.id])],onChange:s=>Y({without:s})}),c(X,{label:"As see\
n from",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y({cluster:s})})]}),n&&c(Pr,{without:n,cluster:o})]})]})}function Pr({without:e,cluster:t}){let n=ae(`${e} ${t}`,
"",60,s=>ie("without",{without:e,cluster:t},s));if(n.loading&&!n.value)return c(P,{children:["Reading ",t,"."]});if(n.error)return c(P,{children:n.error});let r=(n.
value?.predictions??[]).flatMap(s=>(s.ports?.length?s.ports:[{family:"no endpoint now",served:!1}]).map(i=>({id:Lr(s.name),port:i}))).sort((s,i)=>Number(s.port.
served)-Number(i.port.served)||(s.id<i.id?-1:1)),o=r.filter(s=>!s.port.served).length;return c($,{children:[n.value?.unread?.map(s=>c(P,{children:["This is not \
certain: ",s]})),c("p",{role:"status",class:o?"bad":n.value?.unread?"":"good",children:["Without ",e,", ",o?`${o} of ${r.length} ports would not be served`:`all\
 ${r.length} ports would be served`," in ",t,"."]}),c(ee,{label:"Predictions",heads:["Service","Port","Served","By"],note:r.length>1e3&&"The first 1000.",children:r.
slice(0,1e3).map(s=>c("tr",{class:s.port.served?"":"error",children:[c("th",{scope:"row",children:c("a",{href:ce(s.id),children:s.id})}),c("td",{children:[s.port.
port," ",s.port.family]}),c("td",{children:s.port.served?"yes":"no"}),c("td",{children:(s.port.clusters??[]).map(i=>`${i.cluster}: ${i.role} (${i.reason})${i.active?
` ${Math.round(i.sharePercent)}%`:""}`).join(", ")})]}))})]})}function Lr(e){let[t,n]=e.split(".svc.")[0].split(/\.(?=[^.]*$)/);return`${n}/${t}`}var kn=Object.defineProperty,Rr=(e,t,n)=>t in e?kn(e,t,{enumerable:!0,configurable:!0,writable:!0,value:n}):e[t]=n,Dr=(e,t)=>{for(var n in t)kn(e,n,{get:t[n],enumerable:!0})},
Fr=(e,t,n)=>Rr(e,typeof t!="symbol"?t+"":t,n),xn={};Dr(xn,{Graph:()=>z,alg:()=>pt});var Ar=Object.defineProperty,Nn=(e,t)=>{for(var n in t)Ar(e,n,{get:t[n],enumerable:!0})},
ft=class{constructor(e){this._isDirected=!0,this._isMultigraph=!1,this._isCompound=!1,this._nodes={},this._in={},this._preds={},this._out={},this._sucs={},this.
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
forEach(([o,s])=>{e(o)&&t.setNode(o,s)}),Object.values(this._edgeObjs).forEach(o=>{t.hasNode(o.v)&&t.hasNode(o.w)&&t.setEdge(o,this.edge(o))});let n={},r=o=>{let s=this.
parent(o);return!s||t.hasNode(s)?(n[o]=s,s):s in n?n[s]:r(s)};return this._isCompound&&t.nodes().forEach(o=>t.setParent(o,r(o))),t}setDefaultEdgeLabel(e){return typeof e!=
"function"?this._defaultEdgeLabelFn=()=>e:this._defaultEdgeLabelFn=e,this}edgeCount(){return this._edgeCount}edges(){return Object.values(this._edgeObjs)}setPath(e,t){
return e.reduce((n,r)=>(t!==void 0?this.setEdge(n,r,t):this.setEdge(n,r),r)),this}setEdge(e,t,n,r){let o,s,i,a,u=!1;typeof e=="object"&&e!==null&&"v"in e?(o=e.v,
s=e.w,i=e.name,arguments.length===2&&(a=t,u=!0)):(o=e,s=t,i=r,arguments.length>2&&(a=n,u=!0)),o=""+o,s=""+s,i!==void 0&&(i=""+i);let d=we(this._isDirected,o,s,i);
if(d in this._edgeLabels)return u&&(this._edgeLabels[d]=a),this;if(i!==void 0&&!this._isMultigraph)throw new Error("Cannot set a named edge when isMultigraph = \
false");this.setNode(o),this.setNode(s),this._edgeLabels[d]=u?a:this._defaultEdgeLabelFn(o,s,i);let l=Hr(this._isDirected,o,s,i);return o=l.v,s=l.w,Object.freeze(
l),this._edgeObjs[d]=l,nn(this._preds[s],o),nn(this._sucs[o],s),this._in[s][d]=l,this._out[o][d]=l,this._edgeCount++,this}edge(e,t,n){let r=arguments.length===1?
it(this._isDirected,e):we(this._isDirected,e,t,n);return this._edgeLabels[r]}edgeAsObj(e,t,n){let r=arguments.length===1?this.edge(e):this.edge(e,t,n);return typeof r!=
"object"||r===null?{label:r}:r}hasEdge(e,t,n){return(arguments.length===1?it(this._isDirected,e):we(this._isDirected,e,t,n))in this._edgeLabels}removeEdge(e,t,n){
let r=arguments.length===1?it(this._isDirected,e):we(this._isDirected,e,t,n),o=this._edgeObjs[r];if(o){let s=o.v,i=o.w;delete this._edgeLabels[r],delete this._edgeObjs[r],
rn(this._preds[i],s),rn(this._sucs[s],i),delete this._in[i][r],delete this._out[s][r],this._edgeCount--}return this}inEdges(e,t){return this.isDirected()?this.filterEdges(
this._in[e],e,t):this.nodeEdges(e,t)}outEdges(e,t){return this.isDirected()?this.filterEdges(this._out[e],e,t):this.nodeEdges(e,t)}nodeEdges(e,t){if(e in this._nodes)
return this.filterEdges({...this._in[e],...this._out[e]},e,t)}_removeFromParentsChildList(e){delete this._children[this._parent[e]][e]}filterEdges(e,t,n){if(!e)
return;let r=Object.values(e);return n?r.filter(o=>o.v===t&&o.w===n||o.v===n&&o.w===t):r}};function nn(e,t){e[t]?e[t]++:e[t]=1}function rn(e,t){e[t]!==void 0&&!--e[t]&&
delete e[t]}function we(e,t,n,r){let o=""+t,s=""+n;if(!e&&o>s){let i=o;o=s,s=i}return o+""+s+""+(r===void 0?"\0":r)}function Hr(e,t,n,r){let o=""+t,s=""+n;if(!e&&
o>s){let a=o;o=s,s=a}let i={v:o,w:s};return r&&(i.name=r),i}function it(e,t){return we(e,t.v,t.w,t.name)}var Br={};Nn(Br,{read:()=>Ur,write:()=>qr});function qr(e){
let t={options:{directed:e.isDirected(),multigraph:e.isMultigraph(),compound:e.isCompound()},nodes:Vr(e),edges:Wr(e)},n=e.graph();return n!==void 0&&(t.value=structuredClone(
n)),t}function Vr(e){return e.nodes().map(t=>{let n=e.node(t),r=e.parent(t),o={v:t};return n!==void 0&&(o.value=n),r!==void 0&&(o.parent=r),o})}function Wr(e){return e.
edges().map(t=>{let n=e.edge(t),r={v:t.v,w:t.w};return t.name!==void 0&&(r.name=t.name),n!==void 0&&(r.value=n),r})}function Ur(e){let t=new ft(e.options);return e.
value!==void 0&&t.setGraph(e.value),e.nodes.forEach(n=>{t.setNode(n.v,n.value),n.parent&&t.setParent(n.v,n.parent)}),e.edges.forEach(n=>{t.setEdge({v:n.v,w:n.w,
name:n.name},n.value)}),t}var pt={};Nn(pt,{CycleException:()=>De,bellmanFord:()=>On,components:()=>Gr,dijkstra:()=>Re,dijkstraAll:()=>Jr,findCycles:()=>Qr,floydWarshall:()=>eo,
isAcyclic:()=>no,postorder:()=>oo,preorder:()=>so,prim:()=>io,shortestPaths:()=>ao,tarjan:()=>Sn,topsort:()=>jn});var Yr=()=>1;function On(e,t,n,r){return zr(e,
String(t),n||Yr,r||function(o){var s;return(s=e.outEdges(o))!=null?s:[]})}function zr(e,t,n,r){let o={},s,i=0,a=e.nodes(),u=function(f){let p=o[f.v],h=o[f.w];if(!p||
!h)return;let _=n(f);p.distance+_<h.distance&&(o[f.w]={distance:p.distance+_,predecessor:f.v},s=!0)},d=function(){a.forEach(function(f){r(f).forEach(function(p){
let h=p.v===f?p.v:p.w,_=h===p.v?p.w:p.v;u({v:h,w:_})})})};a.forEach(function(f){let p=f===t?0:Number.POSITIVE_INFINITY;o[f]={distance:p,predecessor:""}});let l=a.
length;for(let f=1;f<l&&(s=!1,i++,d(),!!s);f++);if(i===l-1&&(s=!1,d(),s))throw new Error("The graph contains a negative weight cycle");return o}function Gr(e){let t={},
n=[],r;function o(s){var i,a;s in t||(t[s]=!0,r.push(s),(i=e.successors(s))==null||i.forEach(o),(a=e.predecessors(s))==null||a.forEach(o))}return e.nodes().forEach(
function(s){r=[],o(s),r.length&&n.push(r)}),n}var Cn=class{constructor(){this._arr=[],this._keyIndices={}}size(){return this._arr.length}keys(){return this._arr.
map(e=>e.key)}has(e){return e in this._keyIndices}priority(e){let t=this._keyIndices[e];if(t!==void 0)return this._arr[t].priority}min(){if(this.size()===0)throw new Error(
"Queue underflow");return this._arr[0].key}add(e,t){let n=this._keyIndices,r=String(e);if(!(r in n)){let o=this._arr,s=o.length;return n[r]=s,o.push({key:r,priority:t}),
this._decrease(s),!0}return!1}removeMin(){if(this.size()===0)throw new Error("Queue underflow");this._swap(0,this._arr.length-1);let e=this._arr.pop();return delete this.
_keyIndices[e.key],this._heapify(0),e.key}decrease(e,t){let n=this._keyIndices[e];if(n===void 0)throw new Error(`Key not found: ${e}`);let r=this._arr[n].priority;
if(t>r)throw new Error(`New priority is greater than current priority. Key: ${e} Old: ${r} New: ${t}`);this._arr[n].priority=t,this._decrease(n)}_heapify(e){let t=this.
_arr,n=2*e,r=n+1,o=e;n<t.length&&(o=t[n].priority<t[o].priority?n:o,r<t.length&&(o=t[r].priority<t[o].priority?r:o),o!==e&&(this._swap(e,o),this._heapify(o)))}_decrease(e){
let t=this._arr,n=t[e].priority,r;for(;e!==0&&(r=e>>1,!(t[r].priority<n));)this._swap(e,r),e=r}_swap(e,t){let n=this._arr,r=this._keyIndices,o=n[e],s=n[t];n[e]=
s,n[t]=o,r[s.key]=e,r[o.key]=t}},Kr=()=>1;function Re(e,t,n,r){let o=function(s){var i;return(i=e.outEdges(s))!=null?i:[]};return Xr(e,String(t),n||Kr,r||o)}function Xr(e,t,n,r){
let o={},s=new Cn,i,a,u=function(d){let l=d.v!==i?d.v:d.w,f=o[l];if(!f)return;let p=n(d),h=a.distance+p;if(p<0)throw new Error("dijkstra does not allow negative\
 edge weights. Bad edge: "+d+" Weight: "+p);h<f.distance&&(f.distance=h,f.predecessor=i,s.decrease(l,h))};for(e.nodes().forEach(function(d){let l=d===t?0:Number.
POSITIVE_INFINITY;o[d]={distance:l,predecessor:""},s.add(d,l)});s.size()>0;){i=s.removeMin();let d=o[i];if(!d||d.distance===Number.POSITIVE_INFINITY)break;a=d,r(
i).forEach(u)}return o}function Jr(e,t,n){return e.nodes().reduce(function(r,o){return r[o]=Re(e,o,t,n),r},{})}function Sn(e){let t=0,n=[],r={},o=[];function s(i){
var a;let u=r[i]={onStack:!0,lowlink:t,index:t++};if(n.push(i),(a=e.successors(i))==null||a.forEach(function(d){if(d in r){let l=r[d];l!=null&&l.onStack&&(u.lowlink=
Math.min(u.lowlink,l.index))}else{s(d);let l=r[d];l&&(u.lowlink=Math.min(u.lowlink,l.lowlink))}}),u.lowlink===u.index){let d=[],l;do{l=n.pop();let f=r[l];f&&(f.
onStack=!1),d.push(l)}while(i!==l);o.push(d)}}return e.nodes().forEach(function(i){i in r||s(i)}),o}function Qr(e){return Sn(e).filter(function(t){var n;let r=t[0];
return r?t.length>1||t.length===1&&((n=e.outEdges(r,r))!=null?n:[]).length>0:!1})}var Zr=()=>1;function eo(e,t,n){return to(e,t||Zr,n||function(r){var o;return(o=
e.outEdges(r))!=null?o:[]})}function to(e,t,n){let r={},o=e.nodes();return o.forEach(function(s){let i={};r[s]=i,i[s]={distance:0,predecessor:""},o.forEach(function(a){
s!==a&&(i[a]={distance:Number.POSITIVE_INFINITY,predecessor:""})}),n(s).forEach(function(a){let u=a.v===s?a.w:a.v,d=t(a);i[u]={distance:d,predecessor:s}})}),o.forEach(
function(s){let i=r[s];i&&o.forEach(function(a){let u=r[a];u&&o.forEach(function(d){let l=u[s],f=i[d],p=u[d];if(l&&f&&p){let h=l.distance+f.distance;h<p.distance&&
(p.distance=h,p.predecessor=f.predecessor)}})})}),r}var De=class extends Error{constructor(e){super(e),this.name="CycleException"}};function jn(e){let t={},n={},
r=[];function o(s){var i;if(s in n)throw new De;s in t||(n[s]=!0,t[s]=!0,(i=e.predecessors(s))==null||i.forEach(o),delete n[s],r.push(s))}if(e.sinks().forEach(o),
Object.keys(t).length!==e.nodeCount())throw new De;return r}function no(e){try{jn(e)}catch(t){if(t instanceof De)return!1;throw t}return!0}function ro(e,t,n,r,o){
Array.isArray(t)||(t=[t]);let s=(a=>{var u;return(u=e.isDirected()?e.successors(a):e.neighbors(a))!=null?u:[]}),i={};return t.forEach(function(a){if(!e.hasNode(
a))throw new Error("Graph does not have node: "+a);o=$n(e,a,n==="post",i,s,r,o)}),o}function $n(e,t,n,r,o,s,i){return t in r||(r[t]=!0,n||(i=s(i,t)),o(t).forEach(
function(a){i=$n(e,a,n,r,o,s,i)}),n&&(i=s(i,t))),i}function In(e,t,n){return ro(e,t,n,function(r,o){return r.push(o),r},[])}function oo(e,t){return In(e,t,"post")}
function so(e,t){return In(e,t,"pre")}function io(e,t){var n;let r=new ft,o={},s=new Cn,i;function a(l){let f=l.v===i?l.w:l.v,p=s.priority(f);if(p!==void 0){let h=t(
l);h<p&&(o[f]=i,s.decrease(f,h))}}if(e.nodeCount()===0)return r;e.nodes().forEach(function(l){s.add(l,Number.POSITIVE_INFINITY),r.setNode(l)});let u=e.nodes()[0];
u!==void 0&&s.decrease(u,0);let d=!1;for(;s.size()>0;){if(i=s.removeMin(),i in o)r.setEdge(i,o[i]);else{if(d)throw new Error("Input graph is not connected: "+e);
d=!0}(n=e.nodeEdges(i))==null||n.forEach(a)}return r}function ao(e,t,n,r){return lo(e,t,n,r??(o=>{var s;return(s=e.outEdges(o))!=null?s:[]}))}function lo(e,t,n,r){
if(n===void 0)return Re(e,t,n,r);let o=!1,s=e.nodes();for(let i=0;i<s.length;i++){let a=s[i];if(a===void 0)continue;let u=r(a);for(let d=0;d<u.length;d++){let l=u[d];
if(!l)continue;let f=l.v===a?l.v:l.w,p=f===l.v?l.w:l.v;n({v:f,w:p})<0&&(o=!0)}if(o)return On(e,t,n,r)}return Re(e,t,n,r)}var z=ft;function fe(e,t,n,r){let o=r;for(;e.
hasNode(o);)o=gt(r);return n.dummy=t,e.setNode(o,n),o}function uo(e){let t=new z().setGraph(e.graph());return e.nodes().forEach(n=>t.setNode(n,e.node(n))),e.edges().
forEach(n=>{let r=t.edge(n.v,n.w)||{weight:0,minlen:1},o=e.edge(n);t.setEdge(n.v,n.w,{weight:r.weight+o.weight,minlen:Math.max(r.minlen,o.minlen)})}),t}function Tn(e){
let t=new z({multigraph:e.isMultigraph()}).setGraph(e.graph());return e.nodes().forEach(n=>{e.children(n).length||t.setNode(n,e.node(n))}),e.edges().forEach(n=>{
t.setEdge(n,e.edge(n))}),t}function on(e,t){let n=e.x,r=e.y,o=t.x-n,s=t.y-r,i=e.width/2,a=e.height/2;if(!o&&!s)throw new Error("Not possible to find intersectio\
n inside of the rectangle");let u,d;return o===0||Math.abs(s)*i>Math.abs(o)*a?(s<0&&(a=-a),u=a*o/s,d=a):(o<0&&(i=-i),u=i,d=i*s/o),{x:n+u,y:r+d}}function Ee(e){let t=ye(
Pn(e)+1).map(()=>[]);return e.nodes().forEach(n=>{let r=e.node(n),o=r.rank;o!==void 0&&(t[o]||(t[o]=[]),t[o][r.order]=n)}),t}function co(e){let t=e.nodes().map(
r=>{let o=e.node(r).rank;return o===void 0?Number.MAX_VALUE:o}),n=J(Math.min,t);e.nodes().forEach(r=>{let o=e.node(r);Object.hasOwn(o,"rank")&&(o.rank-=n)})}function ho(e){
let t=e.nodes().map(i=>e.node(i).rank).filter(i=>i!==void 0),n=J(Math.min,t),r=[];e.nodes().forEach(i=>{let a=e.node(i).rank-n;r[a]||(r[a]=[]),r[a].push(i)});let o=0,
s=e.graph().nodeRankFactor;Array.from(r).forEach((i,a)=>{i===void 0&&a%s!==0?--o:i!==void 0&&o&&i.forEach(u=>e.node(u).rank+=o)})}function sn(e,t,n,r){let o={width:0,
height:0};return arguments.length>=4&&(o.rank=n,o.order=r),fe(e,"border",o,t)}function fo(e,t=Mn){let n=[];for(let r=0;r<e.length;r+=t){let o=e.slice(r,r+t);n.push(
o)}return n}var Mn=65535;function J(e,t){if(t.length>Mn){let n=fo(t);return e(...n.map(r=>e(...r)))}else return e(...t)}function Pn(e){let t=e.nodes().map(n=>{let r=e.
node(n).rank;return r===void 0?Number.MIN_VALUE:r});return J(Math.max,t)}function po(e,t){let n={lhs:[],rhs:[]};return e.forEach(r=>{t(r)?n.lhs.push(r):n.rhs.push(
r)}),n}function go(e,t){let n=Date.now();try{return t()}finally{console.log(e+" time: "+(Date.now()-n)+"ms")}}function Ln(e,t){return t()}var _o=0;function gt(e){
let t=++_o;return e+(""+t)}function ye(e,t,n=1){t==null&&(t=e,e=0);let r=s=>s<t;n<0&&(r=s=>t<s);let o=[];for(let s=e;r(s);s+=n)o.push(s);return o}function Fe(e,t){
let n={};for(let r of t)e[r]!==void 0&&(n[r]=e[r]);return n}function Ae(e,t){let n;return typeof t=="string"?n=r=>r[t]:n=t,Object.entries(e).reduce((r,[o,s])=>(r[o]=
n(s,o),r),{})}function mo(e,t){return e.reduce((n,r,o)=>(n[r]=t[o],n),{})}var He="\0";function Rn(e,t,n){var r,o,s,i,a,u;if(!(e&&t&&n&&t.dummy==="edge"&&n.dummy===
"edge"&&t.edgeObj&&n.edgeObj&&e[t.edgeObj.v]&&e[n.edgeObj.v]&&e[t.edgeObj.w]&&e[n.edgeObj.w]))return 0;let d=!0;t.edgeObj.w===n.edgeObj.w&&(d=!1);let l=d?(o=(r=
e[t.edgeObj.v])==null?void 0:r.rank)!=null?o:NaN+1:(i=(s=e[t.edgeObj.w])==null?void 0:s.rank)!=null?i:NaN-1,f=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===t.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===t.edgeObj.w&&w[1].rank===l}),p=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===n.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===n.edgeObj.w&&w[1].rank===l});if(!f||!p)return 0;let h=(a=f[1].order)!=null?a:NaN,
_=(u=p[1].order)!=null?u:NaN;return isNaN(h-_)?0:h-_}var vo="3.1.3",bo=class{constructor(){Fr(this,"_sentinel");let e={};e._next=e._prev=e,this._sentinel=e}dequeue(){
let e=this._sentinel,t=e._prev;if(t!==e)return an(t),t}enqueue(e){let t=this._sentinel;e._prev&&e._next&&an(e),e._next=t._next,t._next._prev=e,t._next=e,e._prev=
t}toString(){let e=[],t=this._sentinel,n=t._prev;for(;n!==t;)e.push(JSON.stringify(n,wo)),n=n._prev;return"["+e.join(", ")+"]"}};function an(e){e._prev._next=e.
_next,e._next._prev=e._prev,delete e._next,delete e._prev}function wo(e,t){if(e!=="_next"&&e!=="_prev")return t}var yo=bo,Eo=()=>1;function ko(e,t){if(e.nodeCount()<=
1)return[];let n=No(e,t||Eo);return xo(n.graph,n.buckets,n.zeroIdx).flatMap(r=>e.outEdges(r.v,r.w)||[])}function xo(e,t,n){var r;let o=[],s=t[t.length-1],i=t[0],
a;for(;e.nodeCount();){for(;a=i.dequeue();)at(e,t,n,a);for(;a=s.dequeue();)at(e,t,n,a);if(e.nodeCount()){for(let u=t.length-2;u>0;--u)if(a=(r=t[u])==null?void 0:
r.dequeue(),a){o=o.concat(at(e,t,n,a,!0)||[]);break}}}return o}function at(e,t,n,r,o){let s=[],i=o?s:void 0;return(e.inEdges(r.v)||[]).forEach(a=>{let u=e.edge(
a),d=e.node(a.v);o&&s.push({v:a.v,w:a.w}),d.out-=u,ht(t,n,d)}),(e.outEdges(r.v)||[]).forEach(a=>{let u=e.edge(a),d=a.w,l=e.node(d);l.in-=u,ht(t,n,l)}),e.removeNode(
r.v),i}function No(e,t){let n=new z,r=0,o=0;e.nodes().forEach(a=>{n.setNode(a,{v:a,in:0,out:0})}),e.edges().forEach(a=>{let u=n.edge(a.v,a.w)||0,d=t(a),l=u+d;n.
setEdge(a.v,a.w,l);let f=n.node(a.v),p=n.node(a.w);o=Math.max(o,f.out+=d),r=Math.max(r,p.in+=d)});let s=Oo(o+r+3).map(()=>new yo),i=r+1;return n.nodes().forEach(
a=>{ht(s,i,n.node(a))}),{graph:n,buckets:s,zeroIdx:i}}function ht(e,t,n){var r,o,s;n.out?n.in?(s=e[n.out-n.in+t])==null||s.enqueue(n):(o=e[e.length-1])==null||o.
enqueue(n):(r=e[0])==null||r.enqueue(n)}function Oo(e){let t=[];for(let n=0;n<e;n++)t.push(n);return t}function Co(e,t){(e.graph().acyclicer==="greedy"?ko(e,n(e)):
So(e,t??null)).forEach(r=>{let o=e.edge(r);e.removeEdge(r),o.forwardName=r.name,o.reversed=!0,e.setEdge(r.w,r.v,o,gt("rev"))});function n(r){return o=>r.edge(o).
weight}}function So(e,t){let n=[],r={},o={};function s(u){Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,e.outEdges(u).forEach(d=>{Object.hasOwn(r,d.w)?n.push(d):s(d.w)}),
delete r[u])}function i(u){var d;Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,(d=e.outEdges(u))==null||d.forEach(l=>{var f,p;Object.hasOwn(r,l.w)||((f=t.node(u))==null?
void 0:f.rank)>((p=t.node(l.w))==null?void 0:p.rank)&&$o(e,l.w,l)?n.push(l):i(l.w)}),delete r[u])}let a=s;return t&&typeof t.node=="function"&&(a=i),e.sources().
forEach(a),e.nodes().forEach(a),n}function jo(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.reversed){e.removeEdge(t);let r=n.forwardName;delete n.reversed,delete n.
forwardName,e.setEdge(t.w,t.v,n,r)}})}function $o(e,t,n){let r=new Set;function o(s){var i;if(e.sources().includes(s))return!0;r.add(s);for(let a of(i=e.inEdges(
s))!=null?i:[])if(!(a.v===n.v&&a.w===n.w)&&!r.has(a.v)&&o(a.v))return!0;return!1}return o(t)}function Io(e){e.graph().dummyChains=[],e.edges().forEach(t=>To(e,t))}
function To(e,t){let n=t.v,r=e.node(n).rank,o=t.w,s=e.node(o).rank,i=t.name,a=e.edge(t),u=a.labelRank;if(s===r+1)return;e.removeEdge(t);let d,l,f;for(f=0,++r;r<
s;++f,++r)a.points=[],l={width:0,height:0,edgeLabel:a,edgeObj:t,rank:r},d=fe(e,"edge",l,"_d"),r===u&&(l.width=a.width,l.height=a.height,l.dummy="edge-label",l.labelpos=
a.labelpos),e.setEdge(n,d,{weight:a.weight},i),f===0&&e.graph().dummyChains.push(d),n=d;e.setEdge(n,o,{weight:a.weight},i)}function Mo(e){e.graph().dummyChains.
forEach(t=>{let n=e.node(t),r=n.edgeLabel,o;for(e.setEdge(n.edgeObj,r);n.dummy;)o=e.successors(t)[0],e.removeNode(t),r.points.push({x:n.x,y:n.y}),n.dummy==="edg\
e-label"&&(r.x=n.x,r.y=n.y,r.width=n.width,r.height=n.height),t=o,n=e.node(t)})}function _t(e){let t={};function n(r){let o=e.node(r);if(Object.hasOwn(t,r))return o.
rank;t[r]=!0;let s=e.outEdges(r),i=s?s.map(u=>u==null?Number.POSITIVE_INFINITY:n(u.w)-e.edge(u).minlen):[],a=J(Math.min,i);return a===Number.POSITIVE_INFINITY&&
(a=0),o.rank=a}e.sources().forEach(n)}function he(e,t){return e.node(t.w).rank-e.node(t.v).rank-e.edge(t).minlen}var Dn=Po;function Po(e){let t=new z({directed:!1}),
n=e.nodes();if(n.length===0)throw new Error("Graph must have at least one node");let r=n[0],o=e.nodeCount();t.setNode(r,{});let s,i;for(;Lo(t,e)<o&&(s=Ro(t,e),!!s);)
i=t.hasNode(s.v)?he(e,s):-he(e,s),Do(t,e,i);return t}function Lo(e,t){function n(r){let o=t.nodeEdges(r);o&&o.forEach(s=>{let i=s.v,a=r===i?s.w:i;!e.hasNode(a)&&
!he(t,s)&&(e.setNode(a,{}),e.setEdge(r,a,{}),n(a))})}return e.nodes().forEach(n),e.nodeCount()}function Ro(e,t){return t.edges().reduce((n,r)=>{let o=Number.POSITIVE_INFINITY;
return e.hasNode(r.v)!==e.hasNode(r.w)&&(o=he(t,r)),o<n[0]?[o,r]:n},[Number.POSITIVE_INFINITY,null])[1]}function Do(e,t,n){e.nodes().forEach(r=>t.node(r).rank+=
n)}var{preorder:Fo,postorder:Ao}=pt,Ho=le;le.initLowLimValues=vt;le.initCutValues=mt;le.calcCutValue=Fn;le.leaveEdge=Hn;le.enterEdge=Bn;le.exchangeEdges=qn;function le(e){
e=uo(e),_t(e);let t=Dn(e);vt(t),mt(t,e);let n,r;for(;n=Hn(t);)r=Bn(t,e,n),qn(t,e,n,r)}function mt(e,t){let n=Ao(e,e.nodes());n=n.slice(0,n.length-1),n.forEach(r=>Bo(
e,t,r))}function Bo(e,t,n){let r=e.node(n).parent,o=e.edge(n,r);o.cutvalue=Fn(e,t,n)}function Fn(e,t,n){let r=e.node(n).parent,o=!0,s=t.edge(n,r),i=0;s||(o=!1,s=
t.edge(r,n)),i=s.weight;let a=t.nodeEdges(n);return a&&a.forEach(u=>{let d=u.v===n,l=d?u.w:u.v;if(l!==r){let f=d===o,p=t.edge(u).weight;if(i+=f?p:-p,Vo(e,n,l)){
let h=e.edge(n,l).cutvalue;i+=f?-h:h}}}),i}function vt(e,t){arguments.length<2&&(t=e.nodes()[0]),An(e,{},1,t)}function An(e,t,n,r,o){let s=n,i=e.node(r);t[r]=!0;
let a=e.neighbors(r);return a&&a.forEach(u=>{Object.hasOwn(t,u)||(n=An(e,t,n,u,r))}),i.low=s,i.lim=n++,o?i.parent=o:delete i.parent,n}function Hn(e){return e.edges().
find(t=>e.edge(t).cutvalue<0)}function Bn(e,t,n){let r=n.v,o=n.w;t.hasEdge(r,o)||(r=n.w,o=n.v);let s=e.node(r),i=e.node(o),a=s,u=!1;return s.lim>i.lim&&(a=i,u=!0),
t.edges().filter(d=>u===ln(e,e.node(d.v),a)&&u!==ln(e,e.node(d.w),a)).reduce((d,l)=>he(t,l)<he(t,d)?l:d)}function qn(e,t,n,r){let o=n.v,s=n.w;e.removeEdge(o,s),
e.setEdge(r.v,r.w,{}),vt(e),mt(e,t),qo(e,t)}function qo(e,t){let n=e.nodes().find(o=>!e.node(o).parent);if(!n)return;let r=Fo(e,[n]);r=r.slice(1),r.forEach(o=>{
let s=e.node(o).parent,i=t.edge(o,s),a=!1;i||(i=t.edge(s,o),a=!0),t.node(o).rank=t.node(s).rank+(a?i.minlen:-i.minlen)})}function Vo(e,t,n){return e.hasEdge(t,n)}
function ln(e,t,n){return n.low<=t.lim&&t.lim<=n.lim}var Wo=Uo;function Uo(e){let t=e.graph().ranker;if(typeof t=="function")return t(e);switch(t){case"network-\
simplex":un(e);break;case"tight-tree":zo(e);break;case"longest-path":Yo(e);break;case"none":break;default:un(e)}}var Yo=_t;function zo(e){_t(e),Dn(e)}function un(e){
Ho(e)}var Go=Ko;function Ko(e){let t=Jo(e),n=e.graph();Array.isArray(n.dummyChains)&&n.dummyChains.forEach(r=>{let o=e.node(r),s=o.edgeObj,i=Xo(e,t,s.v,s.w),a=i.
path,u=i.lca,d=0,l=a[d],f=!0;for(;r!==s.w;){if(o=e.node(r),f){for(;(l=a[d])!==u&&e.node(l).maxRank<o.rank;)d++;l===u&&(f=!1)}if(!f){for(;d<a.length-1&&e.node(a[d+
1]).minRank<=o.rank;)d++;l=a[d]}l!==void 0&&e.setParent(r,l),r=e.successors(r)[0]}})}function Xo(e,t,n,r){let o=[],s=[],i=Math.min(t[n].low,t[r].low),a=Math.max(
t[n].lim,t[r].lim),u;u=n;do u=e.parent(u),o.push(u);while(u&&(t[u].low>i||a>t[u].lim));let d=u,l=r;for(;(l=e.parent(l))!==d;)s.push(l);return{path:o.concat(s.reverse()),
lca:d}}function Jo(e){let t={},n=0;function r(o){let s=n;e.children(o).forEach(r),t[o]={low:s,lim:n++}}return e.children(He).forEach(r),t}function Qo(e){let t=fe(
e,"root",{},"_root"),n=Zo(e),r=Object.values(n),o=J(Math.max,r)-1,s=2*o+1;e.graph().nestingRoot=t,e.edges().forEach(a=>e.edge(a).minlen*=s);let i=es(e)+1;e.children(
He).forEach(a=>{Vn(e,t,s,i,o,n,a)}),e.graph().nodeRankFactor=s}function Vn(e,t,n,r,o,s,i){var a;let u=e.children(i);if(!u.length){i!==t&&e.setEdge(t,i,{weight:0,
minlen:n});return}let d=sn(e,"_bt"),l=sn(e,"_bb"),f=e.node(i);e.setParent(d,i),f.borderTop=d,e.setParent(l,i),f.borderBottom=l,u.forEach(p=>{var h;Vn(e,t,n,r,o,
s,p);let _=e.node(p),w=_.borderTop?_.borderTop:p,b=_.borderBottom?_.borderBottom:p,y=_.borderTop?r:2*r,g=w!==b?1:o-((h=s[i])!=null?h:0)+1;e.setEdge(d,w,{weight:y,
minlen:g,nestingEdge:!0}),e.setEdge(b,l,{weight:y,minlen:g,nestingEdge:!0})}),e.parent(i)||e.setEdge(t,d,{weight:0,minlen:o+((a=s[i])!=null?a:0)})}function Zo(e){
let t={};function n(r,o){let s=e.children(r);s&&s.length&&s.forEach(i=>n(i,o+1)),t[r]=o}return e.children(He).forEach(r=>n(r,1)),t}function es(e){return e.edges().
reduce((t,n)=>t+e.edge(n).weight,0)}function ts(e){let t=e.graph();e.removeNode(t.nestingRoot),delete t.nestingRoot,e.edges().forEach(n=>{e.edge(n).nestingEdge&&
e.removeEdge(n)})}var ns=rs;function rs(e){function t(n){let r=e.children(n),o=e.node(n);if(r.length&&r.forEach(t),o&&Object.hasOwn(o,"minRank")){o.borderLeft=[],
o.borderRight=[];for(let s=o.minRank,i=o.maxRank+1;s<i;++s)dn(e,"borderLeft","_bl",n,o,s),dn(e,"borderRight","_br",n,o,s)}}e.children(He).forEach(t)}function dn(e,t,n,r,o,s){
let i={width:0,height:0,rank:s,borderType:t},a=o[t][s-1],u=fe(e,"border",i,n);o[t][s]=u,e.setParent(u,r),a&&e.setEdge(a,u,{weight:1})}function os(e){var t;let n=(t=
e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="lr"||n==="rl")&&Wn(e)}function ss(e){var t;let n=(t=e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="\
bt"||n==="rl")&&is(e),(n==="lr"||n==="rl")&&(as(e),Wn(e))}function Wn(e){e.nodes().forEach(t=>cn(e.node(t))),e.edges().forEach(t=>cn(e.edge(t)))}function cn(e){
let t=e.width;e.width=e.height,e.height=t}function is(e){e.nodes().forEach(t=>lt(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==null||n.forEach(
lt),Object.hasOwn(r,"y")&&lt(r)})}function lt(e){e.y=-e.y}function as(e){e.nodes().forEach(t=>ut(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==
null||n.forEach(ut),Object.hasOwn(r,"x")&&ut(r)})}function ut(e){let t=e.x;e.x=e.y,e.y=t}function ls(e,t=null){let n={},r=e.nodes().filter(d=>!e.children(d).length),
o=r.map(d=>e.node(d).rank),s=J(Math.max,o),i=ye(s+1).map(()=>[]);function a(d){if(n[d])return;n[d]=!0;let l=e.node(d);i[l.rank].push(d);let f=e.successors(d);f&&
[...f].sort((p,h)=>u(p,h)).forEach(a)}r.sort((d,l)=>e.node(d).rank-e.node(l).rank).forEach(a);function u(d,l){let f=e.node(d),p=e.node(l);return Rn(t,f,p)}return i}
function us(e,t){let n=0;for(let r=1;r<t.length;++r)n+=ds(e,t[r-1],t[r]);return n}function ds(e,t,n){let r=mo(n,n.map((d,l)=>l)),o=t.flatMap(d=>{let l=e.outEdges(
d);return l?l.map(f=>({pos:r[f.w],weight:e.edge(f).weight})).sort((f,p)=>f.pos-p.pos):[]}),s=1;for(;s<n.length;)s<<=1;let i=2*s-1;s-=1;let a=new Array(i).fill(0),
u=0;return o.forEach(d=>{let l=d.pos+s;a[l]+=d.weight;let f=0;for(;l>0;)l%2&&(f+=a[l+1]),l=l-1>>1,a[l]+=d.weight;u+=d.weight*f}),u}function cs(e,t=[]){return t.
map(n=>{let r=e.inEdges(n);if(!r||!r.length)return{v:n};{let o=r.reduce((s,i)=>{let a=e.edge(i),u=e.node(i.v);return{sum:s.sum+a.weight*u.order,weight:s.weight+
a.weight}},{sum:0,weight:0});return{v:n,barycenter:o.sum/o.weight,weight:o.weight}}})}function hs(e,t){let n={};e.forEach((o,s)=>{let i={indegree:0,in:[],out:[],
vs:[o.v],i:s};o.barycenter!==void 0&&(i.barycenter=o.barycenter,i.weight=o.weight),n[o.v]=i}),t.edges().forEach(o=>{let s=n[o.v],i=n[o.w];s!==void 0&&i!==void 0&&
(i.indegree++,s.out.push(i))});let r=Object.values(n).filter(o=>!o.indegree);return fs(r)}function fs(e){let t=[];function n(o){return s=>{s.merged||(s.barycenter===
void 0||o.barycenter===void 0||s.barycenter>=o.barycenter)&&ps(o,s)}}function r(o){return s=>{s.in.push(o),--s.indegree===0&&e.push(s)}}for(;e.length;){let o=e.
pop();t.push(o),o.in.reverse().forEach(n(o)),o.out.forEach(r(o))}return t.filter(o=>!o.merged).map(o=>Fe(o,["vs","i","barycenter","weight"]))}function ps(e,t){let n=0,
r=0;e.weight&&(n+=e.barycenter*e.weight,r+=e.weight),t.weight&&(n+=t.barycenter*t.weight,r+=t.weight),e.vs=t.vs.concat(e.vs),e.barycenter=n/r,e.weight=r,e.i=Math.
min(t.i,e.i),t.merged=!0}function gs(e,t,n,r,o){let s={},i=null,a=null,u=o;typeof t=="boolean"?(u=t,s={}):t&&(s=t,i=n??null,a=r??null);let d=po(e,y=>Object.hasOwn(
y,"barycenter")),l=d.lhs,f=d.rhs.sort((y,g)=>g.i-y.i),p=[],h=0,_=0,w=0;l.sort(_s(a,i,!!u));for(let[y,g]of Object.entries(s)){let v=l.findIndex(m=>m.vs[0]===y);l.
splice(v+1,0,g)}w=hn(p,f,w),l.forEach(y=>{w+=y.vs.length,p.push(y.vs),h+=y.barycenter*y.weight,_+=y.weight,w=hn(p,f,w)});let b={vs:p.flat(1)};return _&&(b.barycenter=
h/_,b.weight=_),b}function hn(e,t,n){let r;for(;t.length&&(r=t[t.length-1]).i<=n;)t.pop(),e.push(r.vs),n++;return n}function _s(e,t,n){return(r,o)=>{if(r.barycenter<
o.barycenter)return-1;if(r.barycenter>o.barycenter)return 1;if(e&&(typeof r.vs[0]=="string"||typeof o.vs[0]=="string")){let s=e.node(r.vs[0]),i=e.node(o.vs[0]),
a=Rn(t,s,i);if(a!==0)return a}return n?o.i-r.i:r.i-o.i}}function Un(e,t,n,r,o){var s,i,a,u,d,l,f,p,h,_,w;let b=null,y=o;typeof r=="boolean"?(y=r,b=null):r!==void 0&&
(b=r);let g=e.children(t),v=e.node(t),m=v?v.borderLeft:void 0,E=v?v.borderRight:void 0,j={};m&&(g=g.filter(x=>x!==m&&x!==E));let L=cs(e,g);L.forEach(x=>{if(e.children(
x.v).length){let{result:N}=Un(e,x.v,n,b,y);j[x.v]=N,Object.hasOwn(N,"barycenter")&&vs(x,N)}});let k=hs(L,n);ms(k,j);let M={},R=!1;for(let x=0;x<k.length;x++)for(let N=x+
1;N<k.length;N++)if(!(!k[x]||!k[N]||!((s=k[x])!=null&&s.barycenter)||!((i=k[N])!=null&&i.barycenter))&&((a=k[x])==null?void 0:a.barycenter)===k[N].barycenter){let S=(d=
(u=k[x])==null?void 0:u.vs[0])!=null?d:"",O=(f=(l=k[N])==null?void 0:l.vs[0])!=null?f:"",D=e.node(S),de=e.node(O);if(D.dummy==="edge"&&de.dummy==="edge"&&((p=D.
edgeObj)==null?void 0:p.v)===((h=de.edgeObj)==null?void 0:h.v)&&((_=D.edgeObj)==null?void 0:_.w)===((w=de.edgeObj)==null?void 0:w.w))if(D.edgeLabel.reversed){M[O]=
k[x],k.splice(x,1),x--;break}else M[S]||(M[S]=k[N],k.splice(N,1),N--);else R=!0}let C=gs(k,M,b,e,y);if(m&&E){C.vs=[m,C.vs,E].flat(1);let x=e.predecessors(m);if(x&&
x.length){let N=e.node(x[0]),S=e.predecessors(E),O=e.node(S[0]);Object.hasOwn(C,"barycenter")||(C.barycenter=0,C.weight=0),C.barycenter=(C.barycenter*C.weight+N.
order+O.order)/(C.weight+2),C.weight+=2}}return Object.defineProperty(C,"result",{value:C,enumerable:!1,configurable:!0,writable:!0}),Object.defineProperty(C,"u\
sedBias",{value:R,enumerable:!1,configurable:!0,writable:!0}),C}function ms(e,t){e.forEach(n=>{n.vs=n.vs.flatMap(r=>t[r]?t[r].vs:r)})}function vs(e,t){e.barycenter!==
void 0?(e.barycenter=(e.barycenter*e.weight+t.barycenter*t.weight)/(e.weight+t.weight),e.weight+=t.weight):(e.barycenter=t.barycenter,e.weight=t.weight)}function bs(e,t,n,r){
r||(r=e.nodes());let o=ws(e),s=new z({compound:!0}).setGraph({root:o}).setDefaultNodeLabel(i=>e.node(i));return r.forEach(i=>{let a=e.node(i),u=e.parent(i);if(a.
rank===t||a.minRank<=t&&t<=a.maxRank){s.setNode(i),s.setParent(i,u||o);let d=e[n](i);d&&d.forEach(l=>{let f=l.v===i?l.w:l.v,p=s.edge(f,i),h=p!==void 0?p.weight:
0;s.setEdge(f,i,{weight:e.edge(l).weight+h})}),Object.hasOwn(a,"minRank")&&s.setNode(i,{borderLeft:a.borderLeft[t],borderRight:a.borderRight[t]})}}),s}function ws(e){
let t;for(;e.hasNode(t=gt("_root")););return t}function ys(e,t,n){let r={},o;n.forEach(s=>{let i=e.parent(s),a,u;for(;i;){if(a=e.parent(i),a?(u=r[a],r[a]=i):(u=
o,o=i),u&&u!==i){t.setEdge(u,i);return}i=a}})}function Yn(e,t={},n=null){if(typeof t.customOrder=="function"){t.customOrder(e,Yn);return}let r=Pn(e),o=fn(e,ye(1,
r+1),"inEdges"),s=fn(e,ye(r-1,-1,-1),"outEdges"),i=ls(e,n);if(pn(e,i),t.disableOptimalOrderHeuristic)return;let a=Number.POSITIVE_INFINITY,u,d=t.constraints||[];
for(let l=0,f=0;f<4;++l,++f){Es(l%2?o:s,l%4>=2,d,n),i=Ee(e);let p=us(e,i);p<a?(f=0,u=Object.assign({},i),a=p):p===a&&(u=structuredClone(i))}pn(e,u)}function fn(e,t,n){
let r=new Map,o=(s,i)=>{r.has(s)||r.set(s,[]),r.get(s).push(i)};for(let s of e.nodes()){let i=e.node(s);if(typeof i.rank=="number"&&o(i.rank,s),typeof i.minRank==
"number"&&typeof i.maxRank=="number")for(let a=i.minRank;a<=i.maxRank;a++)a!==i.rank&&o(a,s)}return t.map(function(s){return bs(e,s,n,r.get(s)||[])})}function Es(e,t,n,r){
let o=!0,s=new z;e.forEach(function(i){n.forEach(l=>s.setEdge(l.left,l.right));let a=i.graph().root,{result:u,usedBias:d}=Un(i,a,s,r,o);t&&d&&(o=!o),u.vs.forEach(
(l,f)=>i.node(l).order=f),ys(i,s,u.vs)})}function pn(e,t){Object.values(t).forEach(n=>n.forEach((r,o)=>e.node(r).order=o))}function ks(e,t){let n={};function r(o,s){
let i=0,a=0,u=o.length,d=s[s.length-1];return s.forEach((l,f)=>{let p=Ns(e,l),h=p?e.node(p).order:u;(p||l===d)&&(s.slice(a,f+1).forEach(_=>{let w=e.predecessors(
_);w&&w.forEach(b=>{let y=e.node(b),g=y.order;(g<i||h<g)&&!(y.dummy&&e.node(_).dummy)&&zn(n,b,_)})}),a=f+1,i=h)}),s}return t.length&&t.reduce(r),n}function xs(e,t){
let n={};function r(i){var a;return((a=e.node(i))==null?void 0:a.dummy)==="border"}if(!e.nodes().some(r))return n;function o(i,a,u,d,l){ye(a,u).forEach(f=>{let p=i[f];
if(p!==void 0&&e.node(p).dummy){let h=e.predecessors(p);h&&h.forEach(_=>{if(_===void 0)return;let w=e.node(_);w.dummy&&(w.order<d||w.order>l)&&zn(n,_,p)})}})}function s(i,a){
let u=-1,d=-1,l=0;return a.forEach((f,p)=>{if(r(f)){let h=e.predecessors(f);if(h&&h.length){let _=h[0];if(_===void 0)return;d=e.node(_).order,o(a,l,p,u,d),l=p,u=
d}}o(a,l,a.length,d,i.length)}),a}return t.length&&t.reduce(s),n}function Ns(e,t){if(e.node(t).dummy){let n=e.predecessors(t);if(n)return n.find(r=>e.node(r).dummy)}}
function zn(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];r||(e[t]=r={}),r[n]=!0}function Os(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];return r!==void 0&&Object.hasOwn(
r,n)}function Cs(e,t,n,r,o){let s={},i={},a={};return t.forEach(u=>{u.forEach((d,l)=>{s[d]=d,i[d]=d,a[d]=l})}),t.forEach(u=>{let d=-1,l=-1,f=!1,p=u,h=u.findIndex(
_=>o?.includes(_)||gn(_,e,o));h>0&&(p=[u[h],...u.slice(0,h),...u.slice(h+1)],f=!0),p.forEach(_=>{var w;let b=r(_);if(b&&b.length){o!=null&&o.includes(_)&&(b=b.filter(
v=>gn(v,e,o)));let y=b.sort((v,m)=>{let E=a[v],j=a[m];return(E!==void 0?E:0)-(j!==void 0?j:0)}),g=(y.length-1)/2;for(let v=Math.floor(g),m=Math.ceil(g);v<=m;++v){
let E=y[v];if(E===void 0)continue;let j=a[E];if(j!==void 0&&i[_]===_&&d<j&&a[E]!==l&&!Os(n,_,E)){let L=s[E];L!==void 0&&(i[E]=_,i[_]=s[_]=L,d=j,f&&(d=-1,l=(w=a[E])!=
null?w:-1,f=!1))}}}})}),{root:s,align:i}}function Ss(e,t,n,r,o=!1){let s={},i=js(e,t,n,o),a=o?"borderLeft":"borderRight";function u(h,_){let w=i.nodes().slice(),
b={},y=w.pop();for(;y;){if(b[y])h(y);else{b[y]=!0,w.push(y);for(let g of _(y))w.push(g)}y=w.pop()}}function d(h){let _=i.inEdges(h);_?s[h]=_.reduce((w,b)=>{var y;
let g=(y=s[b.v])!=null?y:0,v=i.edge(b);return Math.max(w,g+(v!==void 0?v:0))},0):s[h]=0}function l(h){let _=i.outEdges(h),w=Number.POSITIVE_INFINITY;_&&(w=_.reduce(
(y,g)=>{let v=s[g.w],m=i.edge(g);return Math.min(y,(v!==void 0?v:0)-(m!==void 0?m:0))},Number.POSITIVE_INFINITY));let b=e.node(h);w!==Number.POSITIVE_INFINITY&&
b.borderType!==a&&(s[h]=Math.max(s[h]!==void 0?s[h]:0,w))}function f(h){return i.predecessors(h)||[]}function p(h){return i.successors(h)||[]}return u(d,f),u(l,
p),Object.keys(r).forEach(h=>{var _;let w=n[h];w!==void 0&&(s[h]=(_=s[w])!=null?_:0)}),s}function js(e,t,n,r){let o=new z,s=e.graph(),i=Ps(s.nodesep,s.edgesep,r);
return t.forEach(a=>{let u;a.forEach(d=>{let l=n[d];if(l!==void 0){if(o.setNode(l),u!==void 0){let f=n[u];if(f!==void 0){let p=o.edge(f,l);o.setEdge(f,l,Math.max(
i(e,d,u),p||0))}}u=d}})}),o}function $s(e,t){return Object.values(t).reduce((n,r)=>{let o=Number.NEGATIVE_INFINITY,s=Number.POSITIVE_INFINITY;Object.entries(r).
forEach(([a,u])=>{let d=Ls(e,a)/2;o=Math.max(u+d,o),s=Math.min(u-d,s)});let i=o-s;return i<n[0]&&(n=[i,r]),n},[Number.POSITIVE_INFINITY,null])[1]}function Is(e,t){
let n=Object.values(t),r=J(Math.min,n),o=J(Math.max,n);["u","d"].forEach(s=>{["l","r"].forEach(i=>{let a=s+i,u=e[a];if(!u||u===t)return;let d=Object.values(u),l=r-
J(Math.min,d);i!=="l"&&(l=o-J(Math.max,d)),l&&(e[a]=Ae(u,f=>f+l))})})}function Ts(e,t=void 0){let n=e.ul;return n?Ae(n,(r,o)=>{var s,i;if(t){let u=t.toLowerCase(),
d=e[u];if(d&&d[o]!==void 0)return d[o]}let a=Object.values(e).map(u=>{let d=u[o];return d!==void 0?d:0}).sort((u,d)=>u-d);return(((s=a[1])!=null?s:0)+((i=a[2])!=
null?i:0))/2}):{}}function Ms(e,t){let n=Ee(e),r=Object.assign(ks(e,n),xs(e,n)),o={},s;["u","d"].forEach(a=>{s=a==="u"?n:Object.values(n).reverse(),["l","r"].forEach(
u=>{u==="r"&&(s=s.map(f=>Object.values(f).reverse()));let d=Cs(e,s,r,f=>(a==="u"?e.predecessors(f):e.successors(f))||[],t),l=Ss(e,s,d.root,d.align,u==="r");u===
"r"&&(l=Ae(l,f=>-f)),o[a+u]=l})});let i=$s(e,o);return Is(o,i),Ts(o,e.graph().align)}function Ps(e,t,n){return(r,o,s)=>{let i=r.node(o),a=r.node(s),u=0,d;if(u+=
i.width/2,Object.hasOwn(i,"labelpos"))switch(i.labelpos.toLowerCase()){case"l":d=-i.width/2;break;case"r":d=i.width/2;break}if(d&&(u+=n?d:-d),d=void 0,u+=(i.dummy?
t:e)/2,u+=(a.dummy?t:e)/2,u+=a.width/2,Object.hasOwn(a,"labelpos"))switch(a.labelpos.toLowerCase()){case"l":d=a.width/2;break;case"r":d=-a.width/2;break}return d&&
(u+=n?d:-d),u}}function Ls(e,t){return e.node(t).width}function gn(e,t,n){var r;if(!n)return!1;let o=(r=t.node(e))==null?void 0:r.edgeObj;if(!o||t.node(e).edgeLabel.
reversed)return!1;let s=n.indexOf(o?.v),i=n.indexOf(o?.w);return s!==-1&&i!==-1&&s===(i+1)%n.length||s===(i-1)%n.length}function Rs(e,t){e=Tn(e),Ds(e),Object.entries(
Ms(e,t)).forEach(([n,r])=>e.node(n).x=r)}function Ds(e){let t=Ee(e),n=e.graph(),r=n.ranksep,o=n.rankalign,s=0;t.forEach(i=>{let a=i.reduce((u,d)=>{var l;let f=(l=
e.node(d).height)!=null?l:0;return u>f?u:f},0);i.forEach(u=>{let d=e.node(u);o==="top"?d.y=s+d.height/2:o==="bottom"?d.y=s+a-d.height/2:d.y=s+a/2}),s+=a+r})}var _n=new WeakMap;
function Fs(e,t={}){return Gn(e,Ln,t),e}function mn(e,t,n){let r=t;for(;r!==void 0;){let o=e.parent(r);if(o===n)return r;r=o}}function Gn(e,t,n){var r;let o=e.nodes().
filter(g=>e.children(g).length),s={};o.forEach(g=>{let v=e.node(g);if(v&&v.rankdir){let m=new z({multigraph:!0,compound:!0});m.setGraph({rankdir:v.rankdir});let E=e.
children(g);E.forEach(S=>{let O={...e.node(S)};m.setNode(S,O);let D=e.parent(S);D&&D!==g&&E.includes(D)&&m.setParent(S,D)});let j=new Set;e.edges().forEach(S=>{
let O=mn(e,S.v,g),D=mn(e,S.w,g);if(O===S.v&&D===S.w)m.setEdge(S,{...e.edge(S)});else if(O&&D&&O!==D){let de=`${O}\0${D}`;j.has(de)||(j.add(de),m.setEdge(O,D,{...e.
edge(S)}))}}),Gn(m,t,n);let L=En(m);bn(L,t,n,null),wn(m,L);let k=1/0,M=1/0,R=-1/0,C=-1/0;m.nodes().forEach(S=>{if(S===g)return;let O=m.node(S);O&&typeof O.x=="n\
umber"&&typeof O.y=="number"&&typeof O.width=="number"&&typeof O.height=="number"&&(k=Math.min(k,O.x-O.width/2),R=Math.max(R,O.x+O.width/2),M=Math.min(M,O.y-O.height/
2),C=Math.max(C,O.y+O.height/2))}),(!isFinite(k)||!isFinite(M)||!isFinite(R)||!isFinite(C))&&(k=M=0,R=C=0);let x=R-k,N=C-M;s[g]={minX:k,minY:M,maxX:R,maxY:C,width:x,
height:N,offsetX:k,offsetY:M},v._dagreClusterSubgraph=m}});let i=[],a=g=>{let v=[],m=(e.children(g)||[]).filter(E=>E!==g);for(;m.length>0;){let E=m.shift();v.push(
E),(e.children(E)||[]).filter(j=>j!==E).forEach(j=>m.push(j))}return v},u=new Map;o.forEach(g=>{let v=e.node(g);v&&v.rankdir&&s[g]&&u.set(g,(e.children(g)||[]).
filter(m=>m!==g))});let d=new Set([...u.values()].flat()),l=new Map;u.forEach((g,v)=>{d.has(v)||l.set(v,a(v))});let f=new Set([...l.values()].flat()),p=g=>{for(let[
v,m]of l)if(m.includes(g))return v;return g},h=[];e.edges().forEach(g=>{(f.has(g.v)||f.has(g.w))&&h.push({edge:g,label:e.edge(g)})});let _=new Map;f.forEach(g=>{
let v=e.parent(g);_.set(g,typeof v=="string"?v:void 0)}),l.forEach((g,v)=>{let m=e.node(v),E=[];g.forEach(k=>{let M=e.node(k);M&&(E.push({id:k,node:M,parent:_.get(
k)}),e.removeNode(k))});let j=h.filter(({edge:k})=>g.includes(k.v)||g.includes(k.w)),L=s[v];m&&(i.push({clusterId:v,subgraph:m._dagreClusterSubgraph,bounds:L,children:g,
removedNodes:E,removedEdges:j}),m.width=L.width,m.height=L.height)});let w=new Set;h.forEach(({edge:g,label:v})=>{let m=p(g.v),E=p(g.w);if(m!==E&&e.hasNode(m)&&
e.hasNode(E)){let j=`${m}\0${E}`;w.has(j)||(w.add(j),e.setEdge(m,E,{...v,width:0,height:0}))}});let b=En(e),y=bn(b,t,n,(r=_n.get(e))!=null?r:null);_n.set(e,y),wn(
e,b),w.forEach(g=>{let v=g.indexOf("\0"),m=g.slice(0,v),E=g.slice(v+1);e.hasEdge(m,E)&&e.removeEdge(m,E)}),i.forEach(({clusterId:g,subgraph:v,bounds:m,removedNodes:E,
removedEdges:j})=>{var L,k;let M=e.node(g),R=(L=M?.x)!=null?L:0,C=(k=M?.y)!=null?k:0,x=(m.minX+m.maxX)/2,N=(m.minY+m.maxY)/2;E.forEach(({id:S,node:O,parent:D})=>{
e.setNode(S,O),D!==void 0&&e.setParent(S,D)}),j.forEach(({edge:S,label:O})=>{e.setEdge(S,O)}),v.nodes().forEach(S=>{if(S===g)return;let O=v.node(S),D=e.node(S);
D&&O&&typeof O.x=="number"&&typeof O.y=="number"&&(D.x=R+(O.x-x),D.y=C+(O.y-N))}),vn(e,v,R-x,C-N),delete M._dagreClusterSubgraph}),o.forEach(g=>{var v,m;let E=e.
node(g),j=s[g];if(E&&E.rankdir&&E._dagreClusterSubgraph&&j){let L=E._dagreClusterSubgraph,k=(v=E.x)!=null?v:0,M=(m=E.y)!=null?m:0,R=(j.minX+j.maxX)/2,C=(j.minY+
j.maxY)/2;L.nodes().forEach(x=>{if(x===g)return;let N=L.node(x),S=e.node(x);if(S&&N&&typeof N.x=="number"&&typeof N.y=="number"){let O=N.x-R,D=N.y-C;S.x=k+O,S.y=
M+D}}),vn(e,L,k-R,M-C),delete E._dagreClusterSubgraph}})}function vn(e,t,n,r){t.edges().forEach(o=>{if(!e.hasEdge(o))return;let s=t.edge(o),i=e.edge(o);i.points=
s.points.map(a=>({x:a.x+n,y:a.y+r})),Object.hasOwn(s,"x")&&(i.x=s.x+n,i.y=s.y+r)})}function bn(e,t,n,r=null){var o,s;let i=n?.useDynamic!==!1,a=i&&(o=r?.graph)!=
null?o:null,u=i&&(s=r?.rawNodes)!=null?s:null;t("    makeSpaceForEdgeLabels",()=>Ys(e)),t("    removeSelfEdges",()=>ti(e)),t("    acyclic",()=>Co(e,a)),t("    n\
estingGraph.run",()=>Qo(e)),t("    rank",()=>Wo(Tn(e))),t("    injectEdgeLabelProxies",()=>zs(e)),t("    removeEmptyRanks",()=>ho(e)),t("    nestingGraph.cleanu\
p",()=>ts(e)),t("    normalizeRanks",()=>co(e)),t("    assignRankMinMax",()=>Gs(e)),t("    removeEdgeLabelProxies",()=>Ks(e)),t("    normalize.run",()=>Io(e)),t(
"    parentDummyChains",()=>Go(e)),t("    addBorderSegments",()=>ns(e)),t("    order",()=>Yn(e,n,u)),t("    insertSelfEdges",()=>ni(e)),t("    adjustCoordinateS\
ystem",()=>os(e)),t("    position",()=>Rs(e,n.corePath)),t("    positionSelfEdges",()=>ri(e));let d=JSON.parse(JSON.stringify(e._nodes));return t("    removeBor\
derNodes",()=>ei(e)),t("    normalize.undo",()=>Mo(e)),t("    fixupEdgeLabelCoords",()=>Qs(e)),t("    undoCoordinateSystem",()=>ss(e)),t("    translateGraph",()=>Xs(
e)),t("    assignNodeIntersects",()=>Js(e)),t("    reversePoints",()=>Zs(e)),t("    acyclic.undo",()=>jo(e)),{graph:e,rawNodes:d}}function wn(e,t){e.nodes().forEach(
n=>{let r=e.node(n),o=t.node(n);r&&(r.x=o.x,r.y=o.y,r.order=o.order,r.rank=o.rank,t.children(n).length&&(r.width=o.width,r.height=o.height))}),e.edges().forEach(
n=>{let r=e.edge(n),o=t.edge(n);r.points=o.points,Object.hasOwn(o,"x")&&(r.x=o.x,r.y=o.y)}),e.graph().width=t.graph().width,e.graph().height=t.graph().height}var As=[
"nodesep","edgesep","ranksep","marginx","marginy"],Hs={ranksep:50,edgesep:20,nodesep:50,rankdir:"TB",rankalign:"center"},Bs=["acyclicer","ranker","rankdir","ali\
gn","rankalign"],qs=["width","height","rank"],yn={width:0,height:0},Vs=["minlen","weight","width","height","labeloffset"],Ws={minlen:1,weight:1,width:0,height:0,
labeloffset:10,labelpos:"r"},Us=["labelpos"];function En(e){let t=new z({multigraph:!0,compound:!0}),n=ct(e.graph());return t.setGraph(Object.assign({},Hs,dt(n,
As),Fe(n,Bs))),e.nodes().forEach(r=>{let o=ct(e.node(r)),s=dt(o,qs);Object.keys(yn).forEach(a=>{s[a]===void 0&&(s[a]=yn[a])}),t.setNode(r,s);let i=e.parent(r);i!==
void 0&&t.setParent(r,i)}),e.edges().forEach(r=>{let o=ct(e.edge(r));t.setEdge(r,Object.assign({},Ws,dt(o,Vs),Fe(o,Us)))}),t}function Ys(e){let t=e.graph();t.ranksep/=
2,e.edges().forEach(n=>{var r;let o=e.edge(n);o.minlen*=2,((r=o.labelpos)!=null?r:"r").toLowerCase()!=="c"&&(t.rankdir==="TB"||t.rankdir==="BT"?o.width+=o.labeloffset:
o.height+=o.labeloffset)})}function zs(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.width&&n.height){let r=e.node(t.v),o={rank:(e.node(t.w).rank-r.rank)/2+r.rank,
e:t};fe(e,"edge-proxy",o,"_ep")}})}function Gs(e){let t=0;e.nodes().forEach(n=>{let r=e.node(n);r.borderTop&&(r.minRank=e.node(r.borderTop).rank,r.maxRank=e.node(
r.borderBottom).rank,t=Math.max(t,r.maxRank))}),e.graph().maxRank=t}function Ks(e){e.nodes().forEach(t=>{let n=e.node(t);if(n.dummy==="edge-proxy"){let r=n;e.edge(
r.e).labelRank=n.rank,e.removeNode(t)}})}function Xs(e){let t=Number.POSITIVE_INFINITY,n=0,r=Number.POSITIVE_INFINITY,o=0,s=e.graph(),i=s.marginx||0,a=s.marginy||
0;function u(d){let l=d.x,f=d.y,p=d.width,h=d.height;t=Math.min(t,l-p/2),n=Math.max(n,l+p/2),r=Math.min(r,f-h/2),o=Math.max(o,f+h/2)}e.nodes().forEach(d=>u(e.node(
d))),e.edges().forEach(d=>{let l=e.edge(d);Object.hasOwn(l,"x")&&u(l)}),t-=i,r-=a,e.nodes().forEach(d=>{let l=e.node(d);l.x-=t,l.y-=r}),e.edges().forEach(d=>{let l=e.
edge(d);l.points.forEach(f=>{f.x-=t,f.y-=r}),Object.hasOwn(l,"x")&&(l.x-=t),Object.hasOwn(l,"y")&&(l.y-=r)}),s.width=n-t+i,s.height=o-r+a}function Js(e){e.edges().
forEach(t=>{if(t.v===t.w)return;let n=e.edge(t),r=e.node(t.v),o=e.node(t.w),s,i;n.points?(s=n.points[0],i=n.points[n.points.length-1]):(n.points=[],s=o,i=r),n.points.
unshift(on(r,s)),n.points.push(on(o,i))})}function Qs(e){e.edges().forEach(t=>{let n=e.edge(t);if(Object.hasOwn(n,"x"))switch((n.labelpos==="l"||n.labelpos==="r")&&
(n.width-=n.labeloffset),n.labelpos){case"l":n.x-=n.width/2+n.labeloffset;break;case"r":n.x+=n.width/2+n.labeloffset;break}})}function Zs(e){e.edges().forEach(t=>{
let n=e.edge(t);n.reversed&&n.points.reverse()})}function ei(e){e.nodes().forEach(t=>{if(e.children(t).length){let n=e.node(t),r=e.node(n.borderTop),o=e.node(n.
borderBottom),s=e.node(n.borderLeft[n.borderLeft.length-1]),i=e.node(n.borderRight[n.borderRight.length-1]);n.width=Math.abs(i.x-s.x),n.height=Math.abs(o.y-r.y),
n.x=s.x+n.width/2,n.y=r.y+n.height/2}}),e.nodes().forEach(t=>{e.node(t).dummy==="border"&&e.removeNode(t)})}function ti(e){e.edges().forEach(t=>{if(t.v===t.w){let n=e.
node(t.v);n.selfEdges||(n.selfEdges=[]),n.selfEdges.push({e:t,label:e.edge(t)}),e.removeEdge(t)}})}function ni(e){Ee(e).forEach(t=>{let n=0;t.forEach((r,o)=>{let s=e.
node(r);typeof s.rank!="number"&&(s.rank=0),s.order=o+n,(s.selfEdges||[]).forEach(i=>{fe(e,"selfedge",{width:i.label.width,height:i.label.height,rank:s.rank,order:o+
++n,e:i.e,edgeLabel:i.label},"_se"),(!Array.isArray(i.label.points)||i.label.points.length!==7)&&(i.label.points=[{x:0,y:-10},{x:0,y:-10},{x:0,y:0},{x:0,y:10},{
x:0,y:10},{x:0,y:0},{x:0,y:0}])}),delete s.selfEdges})})}function ri(e){e.nodes().forEach(t=>{let n=e.node(t),r=o=>typeof o=="number"&&isFinite(o);if(n.dummy===
"selfedge"){let o=n,s=e.node(o.e.v),i=r(s?.x)?s.x:0,a=r(s?.y)?s.y:0,u=r(s?.width)?s.width:0,d=r(s?.height)?s.height:0,l=r(n.x)?n.x:i,f=r(n.y)?n.y:a,p=u/2,h=d/2;
o.edgeLabel.points=[{x:l+p,y:f-h},{x:l+p,y:f-h},{x:l,y:f},{x:l-p,y:f+h},{x:l-p,y:f+h},{x:l,y:f},{x:l,y:f}],o.edgeLabel.x=l,o.edgeLabel.y=f,e.setEdge(o.e,o.edgeLabel),
e.removeNode(t)}else n&&Array.isArray(n.selfEdges)&&n.selfEdges.forEach(o=>{if(!Array.isArray(o.label.points)||o.label.points.length!==7){let s=r(n.x)?n.x:0,i=r(
n.y)?n.y:0,a=r(n.width)?n.width:0,u=r(n.height)?n.height:0,d=a/2,l=u/2;o.label.points=[{x:s+d,y:i-l},{x:s+d,y:i-l},{x:s,y:i},{x:s-d,y:i+l},{x:s-d,y:i+l},{x:s,y:i},
{x:s,y:i}]}})})}function dt(e,t){return Ae(Fe(e,t),Number)}function ct(e){let t={};return e&&Object.entries(e).forEach(([n,r])=>{typeof n=="string"&&(n=n.toLowerCase()),
t[n]=r}),t}function oi(e){let t=Ee(e),n=new z({compound:!0,multigraph:!0}).setGraph({});return e.nodes().forEach(r=>{n.setNode(r,{label:r}),n.setParent(r,"layer"+
e.node(r).rank)}),e.edges().forEach(r=>n.setEdge(r.v,r.w,{},r.name)),t.forEach((r,o)=>{let s="layer"+o;n.setNode(s,{rank:"same"}),r.reduce((i,a)=>(n.setEdge(i,a,
{style:"invis"}),a))}),n}var si={graphlib:xn,version:vo,layout:Fs,debug:oi,util:{time:go,notime:Ln}},bt=si;var ii=7.3,Kn=17;function ai(e){let t=[],n=[],r=e.exports??[];r.forEach((u,d)=>{t.push({id:`export ${u.cluster}`,lines:[`ServiceExport in ${u.cluster}`,u.status+
(d===0&&r.length>1?", oldest":""),(u.ports??[]).join(" ")],tone:["Published","Ready"].includes(u.status)?"":"warning"}),n.push([`export ${u.cluster}`,"merge"])});
let o=(e.values??[]).filter(u=>Object.keys(u.others??{}).length).length;t.push({id:"merge",lines:["merge",o?`${o} conflicts: the oldest wins`:`${(e.values??[]).
length} properties agree`],tone:o?"warning":""});let s=e.import;t.push({id:"import",lines:s?[`ServiceImport in ${e.cluster}`,`${s.type}, ${s.status}`,(s.ips??[]).
join(" ")]:[`no ServiceImport in ${e.cluster}`],tone:s?.status==="Ready"?"good":"error"}),n.push(["merge","import"]);let i=e.records??[];t.push({id:"dns",lines:[
"DNS",...i.length?i.map(u=>`${u.type} ${u.values?.[0]??""}${u.total>1?` and ${u.total-1} more`:""}`):["no answer"],e.dns?.length?`by ${e.dns.join(", ")}`:"not f\
orwarded"],tone:i.length&&e.dns?.length?"good":"error"}),n.push(["import","dns"]);let a=e.derivedService?"service":"import";e.derivedService&&(t.push({id:"servi\
ce",lines:["derived Service",e.derivedService]}),n.push(["import","service"]));for(let u of e.sources??[]){let l=(e.endpoints??[]).filter(f=>f.cluster===u.cluster).
filter(f=>f.state==="Standby");t.push({id:`endpoints ${u.cluster}`,lines:[`endpoints of ${u.cluster}`,`${u.readyHere} ready of ${u.imported}`,l.length?`${l.length}\
 on standby (${l[0].reason})`:""],tone:u.readyHere?"good":l.length?"warning":"error"}),n.push([a,`endpoints ${u.cluster}`])}return{nodes:t.map(u=>({...u,lines:u.
lines.filter(Boolean).map(li)})),edges:n}}function li(e){return e.length>40?e.slice(0,39)+"\u2026":e}function Xn({detail:e}){let{nodes:t,edges:n}=ai(e),r=new bt.
graphlib.Graph().setGraph({rankdir:"LR",nodesep:12,ranksep:36,marginx:4,marginy:4}).setDefaultEdgeLabel(()=>({}));for(let i of t)r.setNode(i.id,{width:Math.max(
...i.lines.map(a=>a.length))*ii+20,height:i.lines.length*Kn+14});for(let[i,a]of n)r.setEdge(i,a);bt.layout(r);let{width:o=0,height:s=0}=r.graph();return c("div",
{class:"scroll",tabIndex:0,role:"region","aria-label":"The way of the service",children:c("svg",{class:"flow",role:"img","aria-label":t.map(i=>i.lines.join(" ")).
join("; "),width:o,height:s,viewBox:`0 0 ${o} ${s}`,children:[r.edges().map(i=>c("path",{class:"edge",d:`M${r.edge(i).points.map(a=>`${a.x} ${a.y}`).join("L")}`})),
t.map(i=>{let a=r.node(i.id);return c("g",{class:i.tone,transform:`translate(${a.x-a.width/2} ${a.y-a.height/2})`,children:[c("rect",{width:a.width,height:a.height,
rx:5}),i.lines.map((u,d)=>c("text",{x:10,y:Kn*(d+1)+1,class:d?"":"head",children:u}))]})})]})})}function Qn(){let{overview:e,services:t}=V(),{rest:n,query:r}=U(),o=n.join("/"),s=t.get(o);if(!e)return c(P,{children:"Reading the clusters."});let i=ve(e),a=r.
get("cluster")||(i.find(u=>s?.imports?.[u.id])??i[0])?.id||"";return c($,{children:[c(W,{children:o}),!s&&c(P,{children:"No cluster that is read exports or impo\
rts this service."}),s&&c(ui,{row:s}),!F&&i.length>0&&c($,{children:[c("h2",{children:c(X,{label:"As seen from",value:a,of:i.map(u=>[u.id,u.id]),onChange:u=>Y({
cluster:u})})}),c(ci,{id:o,cluster:a,seen:JSON.stringify(s??null)+e.clusters.map(B).join()})]}),F&&c(di,{row:s})]})}function ui({row:e}){return c(ee,{label:"The\
 service in each cluster",heads:["Cluster","Export","Import","Ready","From"],children:Q(T.overview).map(t=>{let[n,r]=[e.exports?.[t.id],e.imports?.[t.id]];return c(
"tr",{class:B(t)?"stale":"",children:[c("th",{scope:"row",children:[t.id," ",B(t)&&c("span",{class:"tag",children:B(t)})]}),c("td",{children:n&&c(Jn,{cell:n})}),
c("td",{children:r&&c(Jn,{cell:r})}),c("td",{children:r&&(r.u?"unknown":`${r.r??0} of ${r.n??0}`)}),c("td",{children:Object.entries(r?.f??{}).sort().map(([o,[s,
i]])=>`${o}: ${s}${i?` (+${i} on standby)`:""}`).join(", ")})]})})})}function Jn({cell:e}){return c($,{children:[e.p&&c(be,{of:e.p})," ",e.s,e.m&&c("span",{class:"\
small",children:[": ",e.m]})]})}function di({row:e}){return e?.conflicts?.length?c($,{children:[c("h2",{children:"Conflicts"}),c(Zn,{all:e.conflicts})]}):null}function Zn({
all:e,why:t}){return c(ee,{label:"Merged properties",heads:["Property","Value","From","Others want"],children:e.map(n=>c("tr",{children:[c("th",{scope:"row",children:n.
property}),c("td",{children:n.using}),c("td",{children:[n.from,t&&n.others?` (${t})`:""]}),c("td",{children:Le(n)})]}))})}function ci({id:e,cluster:t,seen:n}){let r=ae(
`${e} ${t}`,n,15,s=>ie("explain",{service:e,cluster:t},s)),o=r.value;return c("section",{"aria-busy":r.loading,children:[r.loading&&!o&&c(P,{children:["Reading ",
t,"."]}),r.error&&c(P,{children:r.error}),o&&c($,{children:[c("p",{children:[c("code",{children:o.name})," ",c("strong",{class:`verdict ${o.verdict==="works"?"g\
ood":o.verdict==="does not work"?"bad":"warn"}`,children:o.verdict})," in ",o.cluster,". ",c("span",{class:"small",children:["Read ",Z(r.at),"."]})]}),c(Xn,{detail:o}),
c("h3",{children:"Findings"}),c(Pe,{all:o.findings}),o.values&&c($,{children:[c("h3",{children:"Merged properties"}),c(Zn,{all:o.values,why:"oldest export"})]}),
c("h3",{children:"Endpoints"}),c(ee,{label:"Endpoints",heads:["Address","Cluster","State","Ports","Zone"],children:(o.endpoints??[]).slice(0,500).map(s=>c("tr",
{children:[c("th",{scope:"row",children:s.addresses.join(" ")}),c("td",{children:s.cluster}),c("td",{children:s.state+(s.reason?` (${s.reason})`:"")}),c("td",{children:(s.
ports??[]).join(" ")}),c("td",{children:s.zone})]}))}),(o.endpoints?.length??0)>500&&c("p",{class:"small",children:["The first 500 of ",o.endpoints.length,"."]}),
c("h3",{children:"Commands"}),o.commands.map(s=>c("p",{children:c(re,{text:s})})),c("h3",{children:"Objects"}),(o.objects??[]).map(s=>c("details",{children:[c("\
summary",{children:s.name}),c("pre",{tabIndex:0,children:s.yaml})]}))]})]})}var ue=30,er=10,hi=[["","all"],["exported","exported"],["imported","imported"],["problem","with problems"],["conflict","in conflict"],["active","active: with a \
ready endpoint"],["standby","with standby"],["unserved","without a ready endpoint"],["stale","stale: of a cluster that does not answer"]];function fi(e,t,n,r){let o=s=>n?
[s?.[n]].filter(i=>i!==void 0):Object.values(s??{});switch(t){case"exported":return o(e.exports).length>0;case"imported":return o(e.imports).length>0;case"activ\
e":return o(e.imports).some(s=>s.r);case"stale":return[...Object.keys(e.exports??{}),...Object.keys(e.imports??{})].some(s=>(!n||s===n)&&r.has(s));case"problem":
return[...o(e.exports),...o(e.imports)].some(s=>s.p);case"conflict":return!!e.conflicts?.length;case"standby":return o(e.imports).some(s=>s.b);case"unserved":return o(
e.imports).some(s=>!s.r&&!s.u)}return!n||o(e.exports).length+o(e.imports).length>0}function pi(e,t,n,r,o,s){let i=t.toLowerCase().split(/\s+/).filter(Boolean);return e.
filter(a=>(!n||a.id.startsWith(n+"/"))&&i.every(u=>a.id.includes(u))&&(!r&&!o||fi(a,r,o,s)))}function rr(){let{overview:e,sorted:t,version:n}=V(),{query:r}=U(),
[o,s,i,a]=["q","ns","state","cluster"].map(h=>r.get(h)??""),u=me(null),d=new Set(e?.clusters.filter(h=>B(h)).map(h=>h.id)),l=Te(()=>pi(t,o,s,i,a,d),[n,o,s,i,a]),
f=Te(()=>[...new Set(t.map(h=>h.id.split("/")[0]))],[t]);if(G(()=>{let h=_=>{_.key==="/"&&!_.target.closest("input, select, textarea")&&(_.preventDefault(),u.current?.
focus())};return addEventListener("keydown",h),()=>removeEventListener("keydown",h)},[]),!e)return c(P,{children:"Reading the clusters."});let p=Q(e);return c($,
{children:[c(W,{children:"Services"}),c("form",{class:"filter",role:"search",onSubmit:h=>h.preventDefault(),children:[c("label",{children:["Filter ",c("kbd",{"a\
ria-hidden":"true",children:"/"})," ",c("input",{ref:u,type:"search",value:o,"aria-keyshortcuts":"/",onInput:h=>Y({q:h.currentTarget.value})})]}),c(X,{label:"Na\
mespace",value:s,of:[["","all"],...f.map(h=>[h,h])],onChange:h=>Y({ns:h})}),c(X,{label:"State",value:i,of:hi,onChange:h=>Y({state:h})}),c(X,{label:"Cluster",value:a,
of:[["","all"],...p.map(h=>[h.id,h.id])],onChange:h=>Y({cluster:h})}),c("output",{"aria-live":"polite",children:[l.length," of ",t.length]})]}),c(gi,{rows:l,clusters:a?
p.filter(h=>h.id===a):p}),c("p",{class:"small",children:[c("span",{class:"legend",children:"\u2191 exports"}),c("span",{class:"legend",children:"\u2193 imports: read\
y endpoints of all, + on standby"}),c("span",{class:"legend",children:"\u2260 conflict"})]})]})}function gi({rows:e,clusters:t}){let n=me(null),[r,o]=q(0),[s,i]=q(
600),[a,u]=q(0);G(()=>{let p=new ResizeObserver(()=>i(n.current?.clientHeight??600));return p.observe(n.current),()=>p.disconnect()},[]);let d=Math.max(0,Math.min(
Math.floor(r/ue)-er,e.length-1)),l=Math.min(e.length,Math.ceil((r+s)/ue)+er);return c("div",{class:"scroll services",ref:n,tabIndex:0,role:"region","aria-label":"\
Services and clusters",onScroll:p=>o(p.currentTarget.scrollTop),onKeyDown:p=>{let h={ArrowDown:1,ArrowUp:-1,PageDown:15,PageUp:-15,Home:-e.length,End:e.length}[p.
key];if(!h||!e.length)return;p.preventDefault();let _=Math.max(0,Math.min(e.length-1,a+h));u(_);let w=_*ue,b=n.current;w<b.scrollTop?b.scrollTop=w:w+2*ue>b.scrollTop+
b.clientHeight&&(b.scrollTop=w+2*ue-b.clientHeight),requestAnimationFrame(()=>requestAnimationFrame(()=>b.querySelector(`[data-at="${_}"] a`)?.focus({preventScroll:!0})))},
children:c("table",{"aria-rowcount":e.length+1,children:[c("thead",{children:c("tr",{"aria-rowindex":1,children:[c("th",{scope:"col",children:"Service"}),t.map(
p=>c("th",{scope:"col",class:B(p)?"stale":"",title:B(p),children:p.id}))]})}),c("tbody",{children:[d>0&&c("tr",{class:"space","aria-hidden":"true",ref:p=>{p?.style.
setProperty("height",`${d*ue}px`)}}),e.slice(d,l).map((p,h)=>c("tr",{"data-at":d+h,"aria-rowindex":d+h+2,children:[c("th",{scope:"row",children:[c("a",{href:ce(
p.id),onFocus:()=>u(d+h),children:p.id}),p.type==="Headless"&&c("span",{class:"tag",children:"headless"}),p.conflicts?.length?c("a",{class:"tag conflict",href:`\
#/conflicts?q=${p.id}`,"aria-label":`${p.conflicts.length} conflicts`,tabIndex:-1,children:"\u2260"}):null]}),t.map(_=>c(_i,{row:p,c:_}))]},p.id)),l<e.length&&c(
"tr",{class:"space","aria-hidden":"true",ref:p=>{p?.style.setProperty("height",`${(e.length-l)*ue}px`)}})]})]})})}function _i({row:e,c:t}){let n=e.exports?.[t.id],
r=e.imports?.[t.id],o=[n,r].map(i=>i?.p).sort((i,a)=>tr(i)-tr(a))[0],s=[n&&`exports: ${nr(n)}`,r&&`imports: ${nr(r)}, ${r.u?"endpoints unknown":`${r.r??0} of ${r.
n??0} endpoints ready`}${r.b?`, ${r.b} on standby`:""}`,B(t)].filter(Boolean);return c("td",{class:`${o??""} ${B(t)?"stale":""}`,title:s.join(`
`),children:[!n&&!r&&t.unread?.length?"?":"",n&&"\u2191",r&&(r.u?" \u2193 ?":` \u2193 ${r.r??0}/${r.n??0}`),r?.b?` +${r.b}`:"",o&&c("span",{class:"hidden",children:o})]})}
function tr(e){return["error","warning","pending",void 0].indexOf(e)}function nr(e){return e.s+(e.m?` (${e.m})`:"")}var or={clusters:["Clusters",Xt],services:["Services",rr],conflicts:["Conflicts",Qt],checks:["Checks",Zt],events:["Events",en],"what-if":["What if",tn]};function mi(){
let{overview:e,connected:t}=V(),{page:n}=U(),r=n==="service"?Qn:or[n]?.[1];return c($,{children:[c("a",{class:"skip",href:"#main",onClick:o=>(o.preventDefault(),
document.getElementById("main")?.focus()),children:"Skip to the content"}),c("header",{children:[c("strong",{children:["Atoll ",e?.clusterset]}),c("nav",{"aria-\
label":"Pages",children:Object.entries(or).map(([o,[s]])=>c("a",{href:`#/${o}`,"aria-current":o===n||o==="services"&&n==="service"?"page":void 0,children:s}))}),
c("span",{class:`live ${t?"good":"bad"}`,role:"status",children:F?`snapshot of ${new Date(F.overview.at).toLocaleString()}`:t?"live":"not connected"})]}),c("mai\
n",{id:"main",tabIndex:-1,class:t?"":"stale",children:[!t&&e&&c(P,{children:"atoll console does not answer: what is shown is old. If it has ended, run it again."}),
r?c(r,{}):c(W,{children:["There is no page ",n]})]})]})}Kt();Tt(c(mi,{}),document.getElementById("app"));})();
