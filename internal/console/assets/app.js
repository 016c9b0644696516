"use strict";(()=>{var T,vt,er,ee,De,Oe,bt,Ee,wt,Ae,Fe,tr,fe=Symbol.for("pv"),Ce={},Se=[],nr=/^m(i|n|o|s|text|space)$/,He=Array.isArray,yt=Se.slice,oe=Object.assign;function re(e){
e&&e.parentNode&&e.remove()}function ke(e,t,n,r,o){var s={type:e,props:t,key:n,ref:r,__k:null,__:null,__b:0,__e:null,__c:null,constructor:fe,__v:o||++vt,__i:-1,__u:0};return!o&&T.vnode&&T.
vnode(s),s}function $(e){return e.children}function xe(e,t){this.props=e,this.context=t,this.__g=0}function te(e,t){if(t==null)return e.__&&te(e.__,e.__i+1);for(var n;t<e.
__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:te(e)}function rr(e){var t,n=e.__v,r=n.__e,o=[],s=[],i=e.__P;
i&&((t=oe({constructor:fe},n)).__v=n.__v+1,T.vnode&&T.vnode(t),qe(i,t,n,e.__n,i.namespaceURI,32&n.__u?[r]:null,o,r||te(n),32&n.__u,s),t.__v=n.__v,t.__.__k[t.__i]=
t,Ct(o,t,s),n.__=n.__e=null,t.__e!=r&&Et(t))}function Et(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),
Et(e)}function _t(e){(8&e.__g||(e.__g|=8,ee.push(e),Oe++))&&De==T.debounceRendering||((De=T.debounceRendering)||queueMicrotask)(kt)}function kt(){try{for(var e,
t=1;ee.length;)ee.length>t&&ee.sort(bt),e=ee.shift(),t=ee.length,8&e.__g&&rr(e)}finally{(Oe=ee.length)&&(De||queueMicrotask)(kt)}}function xt(e,t,n,r,o,s,i,a,u,c,d){
var f,p,h,_,w,b,y=r.__k||Se,g=t.length;for(u=or(n,t,y,u,g),f=0;f<g;f++)(h=n.__k[f])!=null&&(p=~h.__i&&y[h.__i]||Ce,h.__i=f,b=qe(e,h,p,o,s,i,a,u,c,d),_=h.__e,(p.
ref!=h.ref||8&p.__u)&&(p.ref&&Be(p.ref,null,h,p),h.ref&&d.push(h.ref,h.__c||_,h)),w=w||_,4&h.__u?(u=Nt(h,u,e,!p.__v),p.__e&&(p.__e=null)):typeof h.type=="functi\
on"&&b!==void 0?u=b:_&&(u=_.nextSibling),h.__u&=-21);return n.__e=w,u}function or(e,t,n,r,o){var s,i,a,u,c,d,f,p,h,_=n.length,w=_,b=0,y=0,g=e.__k=Array(o);for(s=
0;s<o;s++)(i=t[s])!=null&&typeof i!="boolean"&&typeof i!="function"?(typeof i!="object"||i.constructor===String?i=g[s]=ke(null,i):He(i)?i=g[s]=ke($,{children:i}):
i.constructor===fe&&i.__b?i=g[s]=ke(i.type,i.props,i.key,i.ref,i.__v):g[s]=i,u=s+b,i.__=e,i.__b=e.__b+1,a=null,~(c=i.__i=sr(i,n,u,w))&&(w--,(a=n[c])&&(a.__u|=2)),
a&&a.__v?(i.__u|=16,c==u-1?b--:c==u+1?b++:c!=u&&(c>u?b--:b++,y=1)):(~c||(o>_?b--:o<_&&b++),typeof i.type!="function"&&(i.__u|=4))):g[s]=null;if(y){for(d=[],f=[],
s=0;s<o;s++)if((i=g[s])&&16&i.__u){for(b=0,p=d.length;b<p;)d[h=b+p>>1]<i.__i?b=h+1:p=h;d[b]=i.__i,f[s]=b+1}for(b=d.length;s--;)f[s]&&(f[s]==b?b--:g[s].__u|=4)}if(w)
for(s=0;s<_;s++)!(a=n[s])||2&a.__u||(a.__e==r&&(r=te(a)),Ve(a,a));return r}function Nt(e,t,n,r){var o,s,i,a;if(typeof e.type=="function"){if(e.props.__P)return t;
if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&(o[s].__=e,t=Nt(o[s],t,n,!1));return t}for(t&&!t.parentNode&&(t=te(e))&&!t.parentNode&&(t=null),i=e.__e,a=t;a&&a.nodeType==
8;)a=a.nextSibling;for(i!=a&&(!r&&n.moveBefore&&i.parentNode?n.moveBefore(i,t):n.insertBefore(i,t||null)),t=i;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith(
"$s"););return t}function sr(e,t,n,r){var o,s=e.key,i=e.type,a=t[n],u=a&&!(2&a.__u);if(a===null&&s==null||u&&s==a.key&&i==a.type)return n;if(r>(u?1:0)){for(o=n-1;o>=0;o--)if((a=
t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o;for(o=n+1;o<t.length;o++)if((a=t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o}return-1}function mt(e,t,n){n==null&&
(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function ye(e,t,n,r,o){var s,i;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof r=="string"&&(e.style.
cssText=r=""),r)for(t in r)n&&t in n||mt(e.style,t);if(n)for(t in n)r&&n[t]==r[t]||mt(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),
typeof r!="function"&&(r=null),(e.__e||(e.__e={}))[t]=n,n&&r||(i=Fe[t]||(Fe[t]=ir(t)),(e.__a||(e.__a={}))[t]=Ae,s=t!=(t=t.replace(wt,"$1")),(t=t.slice(2))[0]<"a"&&
(t=t.toLowerCase()),n?e.addEventListener(t,i,s):e.removeEventListener(t,i,s));else{if(o=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,
"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)
try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function ir(e){
return function(t){var n=this.__e;if(n){if(n=n[e],t[Ee]==null)t[Ee]=Ae++;else if(t[Ee]<this.__a[e])return;return n(T.event?T.event(t):t)}}}function qe(e,t,n,r,o,s,i,a,u,c){
var d,f,p,h,_,w,b,y,g,v,m,E,j,P,k,M,L,C,x=t.type;if(t.constructor!==fe)return null;128&n.__u&&(u=32&n.__u,d=n.__c.__z)&&(t.__u|=u,f=s=[],d.nodeType==8?a=Ne(d,s):
s.push(d),a=s[0]||a),(d=T.__b)&&d(t);e:if(typeof x=="function"){p=i.length;try{if(y=t.props,g=(d=x.prototype)&&d.render,v=(d=x.contextType)&&r[d.__c],m=d?v?v.props.
value:d.__:r,(h=n.__c)?(t.__c=h,2&h.__g&&(h.__g|=1)):(g?t.__c=h=new x(y,m):(t.__c=h=new xe(y,m),h.constructor=x,h.render=lr),v&&v.sub(h),h.state||(h.state={}),h.
__n=r,h.__g|=8,h.__h=[],h.__k=[]),g&&(h.__s||(h.__s=h.state),x.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=oe({},h.__s)),oe(h.__s,x.getDerivedStateFromProps(
y,h.__s)))),_=h.props,w=h.state,h.__v=t,n.__c){if(y!==_&&g&&!x.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(y,m),t.__v==n.
__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(y,h.__s,m)===!1){t.__v!=n.__v&&(h.props=y,h.state=h.__s,h.__g&=-9),t.__e=n.__e,t.__k=
n.__k,t.__k.some(function(N){N&&(N.__=t)}),Se.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&i.push(h),a=te(n);break e}h.componentWillUpdate&&h.componentWillUpdate(
y,h.__s,m),g&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(_,w,b)})}else g&&!x.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),
g&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=m,h.props=y,h.__P=e,h.__g&=-5,E=T.__r,j=g?25:0;do h.__g&=-9,E&&E(t),d=h.render(h.props,h.state=
h.__s,h.context);while(8&h.__g&&++j<25);g&&(Se.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(r=oe({},r,h.getChildContext())),g&&n.__c&&h.getSnapshotBeforeUpdate&&
(b=h.getSnapshotBeforeUpdate(_,w)),P=d&&d.type===$&&d.key==null?d.props.children:d,y.__P&&(d=a,o=(e=y.__P).namespaceURI,u=s=null,n.props&&n.props.__P!=e&&(n.__k.
some(function(N){N&&Ve(N,N)}),n.__k=null),a=n.__k?te(n,0):null),a=xt(e,He(P)?P:[P],t,n,r,o,s,i,a,u,c),y.__P&&(t.__e=null,a=d),t.__u&=-161,f&&f.some(re),h.__h.length&&
i.push(h),1&h.__g&&(h.__g&=-4)}catch(N){if(i.length=p,t.__v=null,u||s)if(N&&N.then){if(t.__u|=128|u,s){for(~(L=s.indexOf(a||void 0))||(L=s.length);(C=s[L-1])&&C.
nodeType==8;)L--;for(;L<s.length;L++)if(C=s[L])if(s[L]=null,k){if(C==M)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(M=Ne(k=C))}}if(!k){for(;a&&a.
nodeType==8&&a.nextSibling;)a=a.nextSibling;k=a}(d=Ne(k=t.__c.__z||(t.__c.__z=k)))?(t.__e=k,a=d):t.__e=a,a=a&&a.nextSibling}else s&&s.some(re);else t.__e=n.__e;
t.__k||(t.__k=n.__k||[]),N&&N.then||Ot(t),T.__e(N,t,n)}}else a=t.__e=ar(n.__e,t,n,r,o,s,i,u,c,e);return(d=T.diffed)&&d(t),a}function Ne(e,t){if(e&&e.nodeType==8&&
e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(
e)}}function Ot(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(Ot))}function Ct(e,t,n){for(var r=0;r<n.length;)Be(n[r++],n[r++],n[r++]);T.__c&&T.__c(t,e),e.some(
function(o){try{e=o.__h,o.__h=[],e.some(function(s){s.call(o)})}catch(s){T.__e(s,o.__v)}})}function ar(e,t,n,r,o,s,i,a,u,c){var d,f,p,h,_,w,b,y,g=n.props||Ce,v=t.
props,m=t.type;if(m=="svg"?o="http://www.w3.org/2000/svg":m=="math"?o="http://www.w3.org/1998/Math/MathML":o||(o="http://www.w3.org/1999/xhtml"),s){for(d=0;d<s.
length;d++)if((_=s[d])&&(m?_.localName==m:_.nodeType==3)){e=_,s[d]=null;break}}if(!e){if(y=c.ownerDocument||document,!m)return y.createTextNode(v);e=y.createElementNS(
o,m,v.is?v:c),a&&(T.__m&&T.__m(t,s),a=!1),s=null}if(m){if(c=m=="template"&&e.content||e,s=m=="textarea"&&v.defaultValue!=null?null:s&&yt.call(c.childNodes),!a&&
s)for(g={},d=0;d<e.attributes.length;d++)g[(_=e.attributes[d]).name]=_.value;for(d in g)_=g[d],d=="dangerouslySetInnerHTML"?p=_:d=="children"||d in v||d=="value"&&
"defaultValue"in v||d=="checked"&&"defaultChecked"in v||ye(e,d,null,_,o);for(d in v)_=v[d],d=="children"?h=_:d=="dangerouslySetInnerHTML"?f=_:d=="value"?w=_:d==
"checked"?b=_:a&&typeof _!="function"||g[d]===_||ye(e,d,_,g[d],o);f?(a||p&&(f.__html==p.__html||f.__html==e.innerHTML)||(e.innerHTML=f.__html),t.__k=[]):(p&&(e.
textContent=""),(m=="foreignObject"||o=="http://www.w3.org/1998/Math/MathML"&&nr.test(m))&&(o="http://www.w3.org/1999/xhtml"),xt(c,He(h)?h:[h],t,n,r,o,s,i,s?s[0]:
n.__k&&te(n,0),a,u),s&&s.some(re)),a&&m!="textarea"||(d="value",m=="progress"&&w==null?e.removeAttribute(d):w==null||w===e[d]&&(m!="progress"||w)||ye(e,d,w,g[d],
o),d="checked",b!=null&&b!=e[d]&&ye(e,d,b,g[d],o))}else g===v||a&&e.data==v||(e.data=v);return e}function Be(e,t,n,r){try{typeof e=="function"?t?t.__x=e(t)||1:r&&
(r=r.__c||r.__e)&&(t=r.__x)&&(r.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(o){T.__e(o,n)}}function Ve(e,t,n){var r,o,s,i;if(T.unmount&&T.unmount(
e),!(r=e.ref)||r.current&&r.current!=e.__e||Be(r,null,t,e),r=e.__c){if(r.componentWillUnmount)try{r.componentWillUnmount()}catch(a){T.__e(a,t)}r.__P=r.__n=null}
if(r=e.__k)for(i=0;i<r.length;i++)r[i]&&Ve(r[i],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(r=e.__c)&&(r=r.__z)&&(o=Ne(r,s=[]))&&(r==e.__e&&s.some(re),re(
o),re(r)),n||re(e.__e),e.__e=e.__c=e.__=null}function lr(e,t,n){return this.constructor(e,n)}function St(e,t){var n,r,o,s;T.__&&T.__(e,t),t.nodeType==9&&(t=t.documentElement),
r=(n=e&&32&e.__u)?null:t.__k,t.__k=ke($,{children:[e]}),o=[],s=[],qe(t,t.__k,r||Ce,Ce,t.namespaceURI,r?null:t.firstChild?yt.call(t.childNodes):null,o,r?r.__e:t.
firstChild,n,s),Ct(o,t.__k,s),t.__k.props.children=null}T={__e:function(e,t,n,r){for(var o,s,i;t=t.__;)if((o=t.__c)&&!(1&o.__g)){o.__g|=4;try{if((i=(s=o.constructor)&&s.getDerivedStateFromError)&&o.setState(s.getDerivedStateFromError(
e)),o.componentDidCatch&&(o.componentDidCatch(e,r||{}),i=1),i&&8&o.__g)return void(o.__g|=2)}catch(a){e=a}}throw Oe=0,e}},vt=0,er=function(e){return e!=null&&e.
constructor===fe},xe.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=oe({},this.state)),typeof e=="function"&&(e=e(oe({},n),this.props)),
e&&(oe(n,e),this.__v&&(t&&this.__k.push(t),_t(this)))},xe.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),_t(this))},xe.prototype.render=
$,ee=[],Oe=0,bt=function(e,t){return e.__v.__b-t.__v.__b},Ee=Symbol(),wt=/(PointerCapture)$|Capture$/i,Ae=0,Fe={},tr=0;var ge,H,Ue,jt,We=Object.is,je=0,Ft=[],Ye=[],A=T,$t=A.__b,It=A.__r,Tt=A.diffed,Mt=A.__c,Pt=A.unmount,Lt=A.__;function Ge(e,t){A.__h&&A.__h(H,e,je||t),je=0;var n=H.
__H||(H.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function B(e){return je=1,dr(Ht,e)}function dr(e,t,n){var r=Ge(ge++,2);if(r.t=e,!r.__c&&
(r.__=[n?n(t):Ht(void 0,t),function(s){var i=(r.__N||r.__)[0],a=r.t(i,s);We(i,a)||(r.__N=[a,r.__[1]],r.__c.setState({}))}],r.__c=H,!H.__f)){H.__f=!0;var o=H.shouldComponentUpdate;
H.shouldComponentUpdate=function(s,i,a){var u=this.__H;if(!u)return!0;var c=!1,d=this.props!=s;if(u.__.some(function(p){p.__N&&(c=!0,We(p.__[0],p.__N[0])||(d=!0))}),
o){var f=o.call(this,s,i,a);return c?f||d:f}return!c||d}}return r.__}function K(e,t){var n=Ge(ge++,3);!A.__s&&At(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,H.__H.__h.push(
n))}function _e(e){return je=5,$e(function(){return{current:e}},[])}function $e(e,t){var n=Ge(ge++,7);return At(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function ur(){var e;do{for(;e=Ye.shift();)try{pe(e)}catch(n){A.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=Ft.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(pe),t.__h.
some(ze),t.__h=[]}catch(n){t.__h=[],A.__e(n,e.__v)}}}while(Ye.length)}A.__b=function(e){H=null,$t&&$t(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),
Lt&&Lt(e,t)},A.__r=function(e){It&&It(e),ge=0;var t=(H=e.__c).__H;t&&(Ue==H?H.__h=[]:(t.__h.some(pe),t.__h.some(ze),ge=0),t.__h=[],t.__.some(function(n){n.__N&&
(n.__=n.__N),n.u=n.__N=void 0})),Ue=H},A.diffed=function(e){Tt&&Tt(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Dt(Ft.push(t)),t.__H.__.some(function(n){n.u&&(n.
__H=n.u)})),Ue=H=null},A.__c=function(e,t){t.some(function(n){try{n.__h.some(pe),n.__h=n.__h.filter(function(r){return!r.__||ze(r)})}catch(r){n.__h=[function(){
throw r}]}}),Mt&&Mt(e,t)},A.unmount=function(e){Pt&&Pt(e);var t,n,r=e.__c;r&&r.__H&&(r.__H.__.some(function(o){try{if(o.__P&&o.__c){if(n===void 0){for(n=e.__;n&&
(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}o.__P=n,Dt(Ye.push(o))}else pe(o)}catch(s){t=s}}),r.__H=void 0,t&&A.__e(t,r.__v))};var Rt=typeof requestAnimationFrame==
"function";function cr(e){var t,n=function(){clearTimeout(r),Rt&&cancelAnimationFrame(t),setTimeout(e)},r=setTimeout(n,35);Rt&&(t=requestAnimationFrame(n))}function Dt(e){
e!=1&&jt==A.requestAnimationFrame||((jt=A.requestAnimationFrame)||cr)(ur)}function pe(e){var t=H,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),H=t}function ze(e){
var t=H;e.__c=e.__(),H=t}function At(e,t){return!e||e.length!=t.length||t.some(function(n,r){return!We(n,e[r])})}function Ht(e,t){return typeof t=="function"?t(
e):t}var hr=1e3,fr=25e3,qt=document.getElementById("snapshot"),D=qt?JSON.parse(qt.textContent??"null"):null,I={overview:null,services:new Map,sorted:[],log:[],connected:!1,
opened:Date.now(),version:0},Xe=new Set,Ke=!1;function Je(){I.version++,!Ke&&(Ke=!0,requestAnimationFrame(()=>{Ke=!1;for(let e of Xe)e()}))}function V(){let[,e]=B(
0);return K(()=>{let t=()=>e(n=>n+1);return Xe.add(t),()=>{Xe.delete(t)}},[]),I}function X(e,t,n=!1){I.log.unshift({at:Date.now(),about:e,text:t,worse:n}),I.log.
length=Math.min(I.log.length,hr)}function pr(e,t,n){let r=[["exports","export"],["imports","import"]];for(let[s,i]of r){let a=t?.[s]??{},u=n?.[s]??{};for(let c of new Set(
[...Object.keys(a),...Object.keys(u)])){let d=a[c],f=u[c];f?d?d.s!==f.s?X(e,`${i} in ${c}: ${d.s} \u2192 ${f.s}`,f.p==="error"):((d.r??0)!==(f.r??0)||(d.b??0)!==
(f.b??0))&&X(e,`${c}: ${Bt(d)} \u2192 ${Bt(f)}`,(f.r??0)===0):X(e,`new ${i} in ${c}: ${f.s}`,f.p==="error"):X(e,`${i} in ${c} is gone`,!0)}}let o=[t?.conflicts?.
length??0,n?.conflicts?.length??0];o[0]!==o[1]&&X(e,`${o[0]} \u2192 ${o[1]} conflicts`,o[1]>o[0])}function Bt(e){return`${e.r??0} of ${e.n??0} endpoints ready`+
(e.b?`, ${e.b} on standby`:"")}function gr(e,t){let n=new Map(e.clusters.map(r=>[r.id,r]));for(let r of t.clusters){let o=n.get(r.id);n.delete(r.id),o?(!o.error!=
!r.error&&X(r.id,r.error?`does not answer: ${r.error}`:"answers again",!!r.error),o.member?.state!==r.member?.state&&X(r.id,`${o.member?.state??"\u2013"} \u2192 ${r.
member?.state??"\u2013"}`,r.member?.state!=="Ready"),(o.member?.drained??"")!==(r.member?.drained??"")&&X(r.id,r.member?.drained?`drained: ${r.member.drained}`:
"no longer drained")):X(r.id,"new cluster")}for(let r of n.keys())X(r,"cluster is gone",!0)}function Vt(e){let t=!I.overview;e.overview&&(I.overview&&!e.all&&gr(
I.overview,e.overview),I.overview=e.overview);let n=!1;if(e.all){n=!0;for(let r of I.services.keys())e.services?.[r]||I.services.delete(r)}for(let[r,o]of Object.
entries(e.services??{})){let s=I.services.get(r);!t&&Date.now()-I.opened>3e3&&pr(r,s,o),o?(n||=!s,I.services.set(r,o)):n=I.services.delete(r)||n}n?I.sorted=[...I.
services.values()].sort((r,o)=>r.id<o.id?-1:1):e.services&&(I.sorted=I.sorted.map(r=>I.services.get(r.id)??r)),Je()}function Ut(){if(D){I.connected=!0,Vt(D);return}
let e,t=Date.now(),n=o=>{I.connected!==o&&(I.connected=o,Je())},r=()=>{t=Date.now(),e=new EventSource("/api/live"),e.onmessage=o=>{t=Date.now(),n(!0),Vt(JSON.parse(
o.data))},e.addEventListener("alive",()=>t=Date.now()),e.onerror=()=>n(!1)};r(),setInterval(()=>{Date.now()-t>fr&&(n(!1),e.close(),r()),Je()},5e3)}async function se(e,t,n){
let r=await fetch(`/api/${e}?${new URLSearchParams(t)}`,{signal:n});if(!r.ok)throw new Error((await r.text()).trim());return r.json()}function ie(e,t,n,r){let[o,
s]=B({loading:!0,of:e,at:0}),[i,a]=B(0);return K(()=>{let u=new AbortController;return s(c=>c.of===e?{...c,loading:!0}:{of:e,loading:!0,at:0}),r(u.signal).then(
c=>s({value:c,loading:!1,of:e,at:Date.now()}),c=>u.signal.aborted||s({error:String(c.message??c),loading:!1,of:e,at:Date.now()})),()=>u.abort()},[e,t,i]),K(()=>{
if(D)return;let u=setInterval(()=>document.visibilityState==="visible"&&a(c=>c+1),n*1e3);return()=>clearInterval(u)},[n]),o.of===e?o:{loading:!0,at:0}}function z(e){
return e.clusters.filter(t=>!t.outside)}function q(e){return e.state==="unread"?e.context?"not read":"not read: no context is its own":e.state==="reading"?"read\
ing":e.error?`does not answer, last ${Z(e.answered)}`:e.unread?.length?"not all can be read":""}function Z(e){return e?_r(((D?.overview?.at??Date.now())-e)/1e3)+
" ago":"never"}function _r(e){let t=Math.max(0,Math.round(e));return t<120?`${t} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.
round(t/86400)} d`}var mr=Symbol.for("pv"),vr=0;function l(e,t,n,r,o,s){t||(t={});var i,a,u=t;if("ref"in u&&typeof e!="function")for(a in u={},t)a=="ref"?i=t[a]:u[a]=t[a];var c={type:e,props:u,key:n,ref:i,__k:null,
__:null,__b:0,__e:null,__c:null,constructor:mr,__v:--vr,__i:-1,__u:0};return(o||s)&&(c.__source=o,c.__self=s),T.vnode&&T.vnode(c),c}function Qe(){let[e="",t=""]=location.hash.replace(/^#\/?/,"").split("?"),[n="",...r]=e.split("/").map(decodeURIComponent);return{page:n||"clusters",rest:r,query:new URLSearchParams(
t)}}function W(){let[e,t]=B(Qe);return K(()=>{let n=()=>t(Qe());return addEventListener("hashchange",n),()=>removeEventListener("hashchange",n)},[]),e}function Y(e){
let{query:t}=Qe();for(let[r,o]of Object.entries(e))o?t.set(r,o):t.delete(r);let n=t.toString();history.replaceState(null,"",location.hash.split("?")[0]+(n?`?${n}`:
"")),dispatchEvent(new HashChangeEvent("hashchange"))}function ue(e,t){return`#/service/${e}${t?`?cluster=${encodeURIComponent(t)}`:""}`}var br={error:"\xD7",warning:"\
\u203C",pending:"\u2026",ok:"\u221A",skipped:"\u2013"};function me({of:e}){return l("span",{class:`mark ${e}`,role:"img","aria-label":e,children:br[e]})}function Ie({
all:e}){return e?.length?l("ul",{class:"findings",children:e.map(t=>l("li",{children:[l(me,{of:t.severity})," ",l("strong",{children:t.about}),": ",t.message,t.
do&&l(ne,{text:t.do})]}))}):l("p",{class:"good",children:"No problems."})}function ne({text:e}){let[t,n]=B(!1);return l("span",{class:"copy",children:[l("code",
{children:e}),l("button",{type:"button",onClick:async()=>{try{await navigator.clipboard.writeText(e),n(!0),setTimeout(()=>n(!1),1500)}catch{n(!1)}},"aria-label":`\
Copy: ${e}`,children:t?"copied":"copy"})]})}function F({children:e}){return l("p",{class:"notice",role:"status",children:e})}function Ze({what:e}){return D?l(F,
{children:[e," are not in a snapshot."]}):null}function J({label:e,value:t,of:n,onChange:r}){return l("label",{children:[e," ",l("select",{value:t,onChange:o=>r(
o.currentTarget.value),children:n.map(([o,s])=>l("option",{value:o,selected:o===t,children:s}))})]})}function U({children:e}){let t=_e(null);return K(()=>{document.
title=`${t.current?.textContent} \u2013 Atoll`,(document.activeElement===document.body||document.activeElement?.closest("nav"))&&t.current?.focus({preventScroll:!0})},
[String(e)]),l("h1",{tabIndex:-1,ref:t,children:e})}function Wt(){let{overview:e}=V(),{query:t}=W();if(!e)return l(F,{children:"Reading the clusters."});let n=e.clusters.find(r=>r.id===t.get("cluster"));return l(
$,{children:[l(U,{children:"Clusters"}),l(tt,{}),l("ul",{class:"cards",children:e.clusters.map(r=>l("li",{class:`card ${q(r)?"stale":""} ${wr(r)}`,children:l(yr,
{c:r})}))}),n&&l(Er,{cluster:n}),l("h2",{children:"Who reaches whom"}),l(xr,{clusters:z(e)})]})}function tt(){let{broker:e}=I.overview;return e.read&&!e.error?l(
"p",{children:["Broker: ",e.server]}):l(F,{children:["The broker ",e.read?`does not answer, last ${Z(e.answered)}`:"cannot be read",": ",e.error||"connecting","\
. Without it, conflicts, heartbeats and the exports of clusters that are not read are unknown or old."]})}function wr(e){return e.member?.state==="Silent"?"bad":
e.member?.drained||e.unread?.length?"warn":""}function yr({c:e}){let t=e.member,{broker:n}=I.overview,r=n.read&&!n.error,o=[...I.services.values()].filter(i=>i.
exports?.[e.id]?.p==="error"||i.imports?.[e.id]?.p==="error").length,s=[["State",e.outside?"not a member":r?t?t.state:"not on the broker":`unknown${t?`, last ${t.
state}`:""}`],["Heartbeat",t?.heartbeatSeconds===void 0?void 0:Z(I.overview.at-1e3*t.heartbeatSeconds)],["Kubernetes",t?.kubernetes],["Agent",t?.agent],["Reache\
d by",t?.advertises],["Region",t?.region],["Drained",t?.drained],["Exports",t&&String(t.exports)],["May export",t&&!t.namespaces.includes("*")?t.namespaces.join(
", ")||"nothing":void 0],["Ranges",t?.allowedRanges?.join(", ")],["Over budget of",t?.overBudgetOf?.join(", ")]];return l($,{children:[l("h2",{children:[l("a",{
href:`#/clusters?cluster=${encodeURIComponent(e.id)}`,children:e.id}),q(e)&&l("span",{class:"tag",children:q(e)}),t?.drained&&l("span",{class:"tag",children:"dr\
ained"})]}),l("dl",{children:s.map(([i,a])=>a&&l($,{children:[l("dt",{children:i}),l("dd",{children:a})]}))}),o>0&&l("p",{children:l("a",{href:`#/services?state\
=problem&cluster=${encodeURIComponent(e.id)}`,children:[o," services with errors"]})}),e.error&&e.context&&l("p",{class:"small",children:e.error}),e.unread?.map(
i=>l("p",{class:"small",children:i}))]})}function Er({cluster:e}){let t=ie(e.id,q(e),15,async r=>{if(!D)return se("status",{cluster:e.id},r);let o=D.status[e.id];
if(!o)throw new Error(D.errors[e.id]??"not in the snapshot");return o}),n=t.value;return l("section",{"aria-labelledby":"status",children:[l("h2",{id:"status",children:[
"Status of ",e.id]}),t.loading&&l(F,{children:["Reading ",e.id,"."]}),t.error&&l(F,{children:t.error}),n&&l($,{children:[!D&&l("p",{class:"small",children:["rea\
d ",Z(t.at)]}),l("p",{children:[n.components.map(r=>`${r.name}: ${r.ready} of ${r.wanted} ready`).join("; ")||"No component of Atoll.",n.dns?.length?`; DNS: ${n.
dns.join(", ")}`:""]}),l(Ie,{all:n.findings})]}),e.on!==void 0&&e.context&&l(ne,{text:`atoll status${e.on}`})]})}var et={yes:["\u25CF","reached, as far as is kn\
own"],silent:["\u25D0","its endpoints do not answer; they are on standby"],withdrawn:["\xD7","unreachable: its endpoints are withdrawn"],unproven:["\u25CB","non\
e of its endpoints has ever answered"],unknown:["?","unknown"],self:["\xB7",""]};function kr(e,t){return e.id===t.id?"self":e.state!=="read"||e.error||!e.knowsLost||
e.member?.state!=="Ready"?"unknown":e.withdrawn?.[t.id]?"withdrawn":e.silent?.[t.id]?"silent":e.unproven?.[t.id]?"unproven":"yes"}function xr({clusters:e}){return l(
"div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Who reaches whom",children:[l("table",{class:"reach",children:[l("thead",{children:l("tr",{children:[
l("th",{scope:"col",children:"from \\ to"}),e.map(t=>l("th",{scope:"col",children:t.id}))]})}),l("tbody",{children:e.map(t=>l("tr",{class:q(t)?"stale":"",children:[
l("th",{scope:"row",children:t.id}),e.map(n=>{let r=kr(t,n),[o,s]=et[r];return l("td",{class:r,title:s&&`${t.id} \u2192 ${n.id}: ${s}`,children:[l("span",{"aria\
-hidden":"true",children:o}),l("span",{class:"hidden",children:s})]})})]}))})]}),l("p",{class:"small",children:["yes","silent","withdrawn","unproven","unknown"].
map(t=>l("span",{class:"legend",children:[et[t][0]," ",et[t][1]]}))})]})}function zt(){let{overview:e,sorted:t}=V(),{query:n}=W(),r=n.get("q")??"";if(!e)return l(F,{children:"Reading the clusters."});let o=t.filter(s=>s.id.includes(r)).
flatMap(s=>(s.conflicts??[]).map(i=>({id:s.id,...i})));return l($,{children:[l(U,{children:"Conflicts"}),l("p",{children:"Exports of one service that differ. Th\
e oldest export decides (KEP-1645)."}),(!e.broker.read||e.broker.error)&&l(tt,{}),l("form",{class:"filter",role:"search",onSubmit:s=>s.preventDefault(),children:[
l("label",{children:["Filter ",l("input",{type:"search",value:r,onInput:s=>Y({q:s.currentTarget.value})})]}),l("output",{"aria-live":"polite",children:o.length})]}),
e.broker.read&&!e.broker.error&&o.length===0&&l("p",{class:"good",children:"No conflicts."}),o.length>0&&l("div",{class:"scroll",tabIndex:0,role:"region","aria-\
label":"Conflicts",children:[l("table",{children:[l("thead",{children:l("tr",{children:[l("th",{scope:"col",children:"Service"}),l("th",{scope:"col",children:"P\
roperty"}),l("th",{scope:"col",children:"In use"}),l("th",{scope:"col",children:"From"}),l("th",{scope:"col",children:"Others want"})]})}),l("tbody",{children:o.
slice(0,500).map(s=>l("tr",{children:[l("th",{scope:"row",children:l("a",{href:ue(s.id),children:s.id})}),l("td",{children:s.property}),l("td",{children:s.using}),
l("td",{children:s.from}),l("td",{children:Object.entries(s.others??{}).map(([i,a])=>`${i}: ${a}`).join(", ")})]}))})]}),o.length>500&&l("p",{class:"small",children:"\
The first 500."})]})]})}var Yt=["error","warning","skipped","ok"];function Gt(){let{overview:e}=V(),[t,n]=B("");if(!e)return l(F,{children:"Reading the clusters\
."});let{checks:r}=e,o=async()=>{let a=await fetch("/api/checks",{method:"POST"});n(a.ok?"":await a.text())},s=[...r.results??[]].sort((a,u)=>Yt.indexOf(a.status)-
Yt.indexOf(u.status)),i=a=>s.filter(u=>u.status===a).length;return l($,{children:[l(U,{children:"Checks"}),l(Ze,{what:"Runs of checks"}),l("p",{children:["The c\
hecks that need no test pods: a console creates nothing. ",r.command&&l($,{children:"All checks: "})]}),r.command&&l(ne,{text:r.command}),!D&&l("p",{children:[l(
"button",{type:"button",onClick:o,disabled:r.running,children:r.running?"Running":"Run the checks"})," ",r.running&&l("progress",{max:r.of,value:r.read,"aria-la\
bel":"Clusters read"})]}),(t||r.error)&&l(F,{children:t||r.error}),s.length>0&&l("p",{role:"status",children:[i("error")," errors, ",i("warning")," warnings, ",
i("skipped")," skipped, ",i("ok")," passed",r.ended?`, ${Z(r.ended)}`:""]}),l("ul",{class:"findings",children:s.map(a=>l("li",{children:[l(me,{of:a.status})," ",
l("strong",{children:[a.cluster,a.from&&`${a.from} \u2192 ${a.to}`].filter(Boolean).join(" ")})," ",a.id," ",a.title,a.message&&a.status!=="ok"?`: ${a.message}`:
"",a.hint&&l(ne,{text:a.hint})]}))})]})}function Kt(){let{log:e,overview:t}=V(),{query:n}=W();if(!t)return l(F,{children:"Reading the clusters."});let r=z(t).filter(
s=>s.context!==void 0&&s.state!=="unread"),o=n.get("cluster")||r[0]?.id||"";return l($,{children:[l(U,{children:"Events"}),!D&&l($,{children:[l("h2",{children:"\
Changed since the page was opened"}),e.length===0&&l("p",{children:"Nothing yet."}),l("ol",{class:"log","aria-live":"polite",children:e.slice(0,300).map(s=>l("l\
i",{class:s.worse?"worse":"",children:[l("time",{children:new Date(s.at).toLocaleTimeString()})," ",s.about.includes("/")?l("a",{href:ue(s.about),children:s.about}):
l("strong",{children:s.about})," ",s.text]}))})]}),l("h2",{children:l(J,{label:"Events of",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y({cluster:s})})}),l(Nr,
{cluster:o})]})}function Nr({cluster:e}){let t=ie(e,"",15,async n=>{if(!D)return se("events",{cluster:e},n);let r=D.events[e];if(!r)throw new Error(D.errors[e]??
"not in the snapshot");return r});return l("section",{"aria-busy":t.loading,children:[t.error&&l(F,{children:t.error}),t.value?.length===0&&l("p",{children:"Ato\
ll has no Events there."}),l("ol",{class:"log",children:(t.value??[]).slice(0,300).map(n=>l("li",{class:n.type==="Warning"?"worse":"",children:[l("time",{dateTime:n.
at,children:new Date(n.at).toLocaleString()})," ",l("strong",{children:n.about})," ",n.reason,": ",n.message]}))})]})}function Xt(){let{overview:e}=V(),{query:t}=W();
if(!e)return l(F,{children:"Reading the clusters."});let n=t.get("without")??"",r=z(e).filter(s=>s.context!==void 0&&s.state!=="unread"),o=t.get("cluster")||r.find(
s=>s.id!==n)?.id||"";return l($,{children:[l(U,{children:"What if"}),l("p",{children:"Who would serve each service without a cluster, as of now."}),l(Ze,{what:"\
Predictions"}),!D&&l($,{children:[l("form",{class:"filter",onSubmit:s=>s.preventDefault(),children:[l(J,{label:"Without",value:n,of:[["","choose a cluster"],...z(
e).map(s=>[s.id,s.id])],onChange:s=>Y({without:s})}),l(J,{label:"As seen from",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y({cluster:s})})]}),n&&l(Or,{without:n,
cluster:o})]})]})}function Or({without:e,cluster:t}){let n=ie(`${e} ${t}`,"",60,s=>se("without",{without:e,cluster:t},s));if(n.loading&&!n.value)return l(F,{children:[
"Reading ",t,"."]});if(n.error)return l(F,{children:n.error});let r=(n.value??[]).flatMap(s=>(s.ports?.length?s.ports:[{family:"no endpoint now",served:!1}]).map(
i=>({id:Cr(s.name),port:i}))).sort((s,i)=>Number(s.port.served)-Number(i.port.served)||(s.id<i.id?-1:1)),o=r.filter(s=>!s.port.served).length;return l($,{children:[
l("p",{role:"status",class:o?"bad":"good",children:["Without ",e,", ",o?`${o} of ${r.length} ports would not be served`:`all ${r.length} ports would be served`,
" in ",t,"."]}),l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Predictions",children:[l("table",{children:[l("thead",{children:l("tr",{children:[
l("th",{scope:"col",children:"Service"}),l("th",{scope:"col",children:"Port"}),l("th",{scope:"col",children:"Served"}),l("th",{scope:"col",children:"By"})]})}),
l("tbody",{children:r.slice(0,1e3).map(s=>l("tr",{class:s.port.served?"":"error",children:[l("th",{scope:"row",children:l("a",{href:ue(s.id),children:s.id})}),l(
"td",{children:[s.port.port," ",s.port.family]}),l("td",{children:s.port.served?"yes":"no"}),l("td",{children:(s.port.clusters??[]).map(i=>`${i.cluster}: ${i.role}\
 (${i.reason})${i.active?` ${i.sharePercent}%`:""}`).join(", ")})]}))})]}),r.length>1e3&&l("p",{class:"small",children:"The first 1000."})]})]})}function Cr(e){
let[t,n]=e.split(".svc.")[0].split(/\.(?=[^.]*$)/);return`${n}/${t}`}var vn=Object.defineProperty,Sr=(e,t,n)=>t in e?vn(e,t,{enumerable:!0,configurable:!0,writable:!0,value:n}):e[t]=n,jr=(e,t)=>{for(var n in t)vn(e,n,{get:t[n],enumerable:!0})},
$r=(e,t,n)=>Sr(e,typeof t!="symbol"?t+"":t,n),bn={};jr(bn,{Graph:()=>G,alg:()=>ut});var Ir=Object.defineProperty,wn=(e,t)=>{for(var n in t)Ir(e,n,{get:t[n],enumerable:!0})},
dt=class{constructor(e){this._isDirected=!0,this._isMultigraph=!1,this._isCompound=!1,this._nodes={},this._in={},this._preds={},this._out={},this._sucs={},this.
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
s=e.w,i=e.name,arguments.length===2&&(a=t,u=!0)):(o=e,s=t,i=r,arguments.length>2&&(a=n,u=!0)),o=""+o,s=""+s,i!==void 0&&(i=""+i);let c=ve(this._isDirected,o,s,i);
if(c in this._edgeLabels)return u&&(this._edgeLabels[c]=a),this;if(i!==void 0&&!this._isMultigraph)throw new Error("Cannot set a named edge when isMultigraph = \
false");this.setNode(o),this.setNode(s),this._edgeLabels[c]=u?a:this._defaultEdgeLabelFn(o,s,i);let d=Tr(this._isDirected,o,s,i);return o=d.v,s=d.w,Object.freeze(
d),this._edgeObjs[c]=d,Jt(this._preds[s],o),Jt(this._sucs[o],s),this._in[s][c]=d,this._out[o][c]=d,this._edgeCount++,this}edge(e,t,n){let r=arguments.length===1?
nt(this._isDirected,e):ve(this._isDirected,e,t,n);return this._edgeLabels[r]}edgeAsObj(e,t,n){let r=arguments.length===1?this.edge(e):this.edge(e,t,n);return typeof r!=
"object"||r===null?{label:r}:r}hasEdge(e,t,n){return(arguments.length===1?nt(this._isDirected,e):ve(this._isDirected,e,t,n))in this._edgeLabels}removeEdge(e,t,n){
let r=arguments.length===1?nt(this._isDirected,e):ve(this._isDirected,e,t,n),o=this._edgeObjs[r];if(o){let s=o.v,i=o.w;delete this._edgeLabels[r],delete this._edgeObjs[r],
Qt(this._preds[i],s),Qt(this._sucs[s],i),delete this._in[i][r],delete this._out[s][r],this._edgeCount--}return this}inEdges(e,t){return this.isDirected()?this.filterEdges(
this._in[e],e,t):this.nodeEdges(e,t)}outEdges(e,t){return this.isDirected()?this.filterEdges(this._out[e],e,t):this.nodeEdges(e,t)}nodeEdges(e,t){if(e in this._nodes)
return this.filterEdges({...this._in[e],...this._out[e]},e,t)}_removeFromParentsChildList(e){delete this._children[this._parent[e]][e]}filterEdges(e,t,n){if(!e)
return;let r=Object.values(e);return n?r.filter(o=>o.v===t&&o.w===n||o.v===n&&o.w===t):r}};function Jt(e,t){e[t]?e[t]++:e[t]=1}function Qt(e,t){e[t]!==void 0&&!--e[t]&&
delete e[t]}function ve(e,t,n,r){let o=""+t,s=""+n;if(!e&&o>s){let i=o;o=s,s=i}return o+""+s+""+(r===void 0?"\0":r)}function Tr(e,t,n,r){let o=""+t,s=""+n;if(!e&&
o>s){let a=o;o=s,s=a}let i={v:o,w:s};return r&&(i.name=r),i}function nt(e,t){return ve(e,t.v,t.w,t.name)}var Mr={};wn(Mr,{read:()=>Dr,write:()=>Pr});function Pr(e){
let t={options:{directed:e.isDirected(),multigraph:e.isMultigraph(),compound:e.isCompound()},nodes:Lr(e),edges:Rr(e)},n=e.graph();return n!==void 0&&(t.value=structuredClone(
n)),t}function Lr(e){return e.nodes().map(t=>{let n=e.node(t),r=e.parent(t),o={v:t};return n!==void 0&&(o.value=n),r!==void 0&&(o.parent=r),o})}function Rr(e){return e.
edges().map(t=>{let n=e.edge(t),r={v:t.v,w:t.w};return t.name!==void 0&&(r.name=t.name),n!==void 0&&(r.value=n),r})}function Dr(e){let t=new dt(e.options);return e.
value!==void 0&&t.setGraph(e.value),e.nodes.forEach(n=>{t.setNode(n.v,n.value),n.parent&&t.setParent(n.v,n.parent)}),e.edges.forEach(n=>{t.setEdge({v:n.v,w:n.w,
name:n.name},n.value)}),t}var ut={};wn(ut,{CycleException:()=>Me,bellmanFord:()=>yn,components:()=>Hr,dijkstra:()=>Te,dijkstraAll:()=>Vr,findCycles:()=>Ur,floydWarshall:()=>Yr,
isAcyclic:()=>Gr,postorder:()=>Xr,preorder:()=>Jr,prim:()=>Qr,shortestPaths:()=>Zr,tarjan:()=>kn,topsort:()=>xn});var Fr=()=>1;function yn(e,t,n,r){return Ar(e,
String(t),n||Fr,r||function(o){var s;return(s=e.outEdges(o))!=null?s:[]})}function Ar(e,t,n,r){let o={},s,i=0,a=e.nodes(),u=function(f){let p=o[f.v],h=o[f.w];if(!p||
!h)return;let _=n(f);p.distance+_<h.distance&&(o[f.w]={distance:p.distance+_,predecessor:f.v},s=!0)},c=function(){a.forEach(function(f){r(f).forEach(function(p){
let h=p.v===f?p.v:p.w,_=h===p.v?p.w:p.v;u({v:h,w:_})})})};a.forEach(function(f){let p=f===t?0:Number.POSITIVE_INFINITY;o[f]={distance:p,predecessor:""}});let d=a.
length;for(let f=1;f<d&&(s=!1,i++,c(),!!s);f++);if(i===d-1&&(s=!1,c(),s))throw new Error("The graph contains a negative weight cycle");return o}function Hr(e){let t={},
n=[],r;function o(s){var i,a;s in t||(t[s]=!0,r.push(s),(i=e.successors(s))==null||i.forEach(o),(a=e.predecessors(s))==null||a.forEach(o))}return e.nodes().forEach(
function(s){r=[],o(s),r.length&&n.push(r)}),n}var En=class{constructor(){this._arr=[],this._keyIndices={}}size(){return this._arr.length}keys(){return this._arr.
map(e=>e.key)}has(e){return e in this._keyIndices}priority(e){let t=this._keyIndices[e];if(t!==void 0)return this._arr[t].priority}min(){if(this.size()===0)throw new Error(
"Queue underflow");return this._arr[0].key}add(e,t){let n=this._keyIndices,r=String(e);if(!(r in n)){let o=this._arr,s=o.length;return n[r]=s,o.push({key:r,priority:t}),
this._decrease(s),!0}return!1}removeMin(){if(this.size()===0)throw new Error("Queue underflow");this._swap(0,this._arr.length-1);let e=this._arr.pop();return delete this.
_keyIndices[e.key],this._heapify(0),e.key}decrease(e,t){let n=this._keyIndices[e];if(n===void 0)throw new Error(`Key not found: ${e}`);let r=this._arr[n].priority;
if(t>r)throw new Error(`New priority is greater than current priority. Key: ${e} Old: ${r} New: ${t}`);this._arr[n].priority=t,this._decrease(n)}_heapify(e){let t=this.
_arr,n=2*e,r=n+1,o=e;n<t.length&&(o=t[n].priority<t[o].priority?n:o,r<t.length&&(o=t[r].priority<t[o].priority?r:o),o!==e&&(this._swap(e,o),this._heapify(o)))}_decrease(e){
let t=this._arr,n=t[e].priority,r;for(;e!==0&&(r=e>>1,!(t[r].priority<n));)this._swap(e,r),e=r}_swap(e,t){let n=this._arr,r=this._keyIndices,o=n[e],s=n[t];n[e]=
s,n[t]=o,r[s.key]=e,r[o.key]=t}},qr=()=>1;function Te(e,t,n,r){let o=function(s){var i;return(i=e.outEdges(s))!=null?i:[]};return Br(e,String(t),n||qr,r||o)}function Br(e,t,n,r){
let o={},s=new En,i,a,u=function(c){let d=c.v!==i?c.v:c.w,f=o[d];if(!f)return;let p=n(c),h=a.distance+p;if(p<0)throw new Error("dijkstra does not allow negative\
 edge weights. Bad edge: "+c+" Weight: "+p);h<f.distance&&(f.distance=h,f.predecessor=i,s.decrease(d,h))};for(e.nodes().forEach(function(c){let d=c===t?0:Number.
POSITIVE_INFINITY;o[c]={distance:d,predecessor:""},s.add(c,d)});s.size()>0;){i=s.removeMin();let c=o[i];if(!c||c.distance===Number.POSITIVE_INFINITY)break;a=c,r(
i).forEach(u)}return o}function Vr(e,t,n){return e.nodes().reduce(function(r,o){return r[o]=Te(e,o,t,n),r},{})}function kn(e){let t=0,n=[],r={},o=[];function s(i){
var a;let u=r[i]={onStack:!0,lowlink:t,index:t++};if(n.push(i),(a=e.successors(i))==null||a.forEach(function(c){if(c in r){let d=r[c];d!=null&&d.onStack&&(u.lowlink=
Math.min(u.lowlink,d.index))}else{s(c);let d=r[c];d&&(u.lowlink=Math.min(u.lowlink,d.lowlink))}}),u.lowlink===u.index){let c=[],d;do{d=n.pop();let f=r[d];f&&(f.
onStack=!1),c.push(d)}while(i!==d);o.push(c)}}return e.nodes().forEach(function(i){i in r||s(i)}),o}function Ur(e){return kn(e).filter(function(t){var n;let r=t[0];
return r?t.length>1||t.length===1&&((n=e.outEdges(r,r))!=null?n:[]).length>0:!1})}var Wr=()=>1;function Yr(e,t,n){return zr(e,t||Wr,n||function(r){var o;return(o=
e.outEdges(r))!=null?o:[]})}function zr(e,t,n){let r={},o=e.nodes();return o.forEach(function(s){let i={};r[s]=i,i[s]={distance:0,predecessor:""},o.forEach(function(a){
s!==a&&(i[a]={distance:Number.POSITIVE_INFINITY,predecessor:""})}),n(s).forEach(function(a){let u=a.v===s?a.w:a.v,c=t(a);i[u]={distance:c,predecessor:s}})}),o.forEach(
function(s){let i=r[s];i&&o.forEach(function(a){let u=r[a];u&&o.forEach(function(c){let d=u[s],f=i[c],p=u[c];if(d&&f&&p){let h=d.distance+f.distance;h<p.distance&&
(p.distance=h,p.predecessor=f.predecessor)}})})}),r}var Me=class extends Error{constructor(e){super(e),this.name="CycleException"}};function xn(e){let t={},n={},
r=[];function o(s){var i;if(s in n)throw new Me;s in t||(n[s]=!0,t[s]=!0,(i=e.predecessors(s))==null||i.forEach(o),delete n[s],r.push(s))}if(e.sinks().forEach(o),
Object.keys(t).length!==e.nodeCount())throw new Me;return r}function Gr(e){try{xn(e)}catch(t){if(t instanceof Me)return!1;throw t}return!0}function Kr(e,t,n,r,o){
Array.isArray(t)||(t=[t]);let s=(a=>{var u;return(u=e.isDirected()?e.successors(a):e.neighbors(a))!=null?u:[]}),i={};return t.forEach(function(a){if(!e.hasNode(
a))throw new Error("Graph does not have node: "+a);o=Nn(e,a,n==="post",i,s,r,o)}),o}function Nn(e,t,n,r,o,s,i){return t in r||(r[t]=!0,n||(i=s(i,t)),o(t).forEach(
function(a){i=Nn(e,a,n,r,o,s,i)}),n&&(i=s(i,t))),i}function On(e,t,n){return Kr(e,t,n,function(r,o){return r.push(o),r},[])}function Xr(e,t){return On(e,t,"post")}
function Jr(e,t){return On(e,t,"pre")}function Qr(e,t){var n;let r=new dt,o={},s=new En,i;function a(d){let f=d.v===i?d.w:d.v,p=s.priority(f);if(p!==void 0){let h=t(
d);h<p&&(o[f]=i,s.decrease(f,h))}}if(e.nodeCount()===0)return r;e.nodes().forEach(function(d){s.add(d,Number.POSITIVE_INFINITY),r.setNode(d)});let u=e.nodes()[0];
u!==void 0&&s.decrease(u,0);let c=!1;for(;s.size()>0;){if(i=s.removeMin(),i in o)r.setEdge(i,o[i]);else{if(c)throw new Error("Input graph is not connected: "+e);
c=!0}(n=e.nodeEdges(i))==null||n.forEach(a)}return r}function Zr(e,t,n,r){return eo(e,t,n,r??(o=>{var s;return(s=e.outEdges(o))!=null?s:[]}))}function eo(e,t,n,r){
if(n===void 0)return Te(e,t,n,r);let o=!1,s=e.nodes();for(let i=0;i<s.length;i++){let a=s[i];if(a===void 0)continue;let u=r(a);for(let c=0;c<u.length;c++){let d=u[c];
if(!d)continue;let f=d.v===a?d.v:d.w,p=f===d.v?d.w:d.v;n({v:f,w:p})<0&&(o=!0)}if(o)return yn(e,t,n,r)}return Te(e,t,n,r)}var G=dt;function he(e,t,n,r){let o=r;for(;e.
hasNode(o);)o=ct(r);return n.dummy=t,e.setNode(o,n),o}function to(e){let t=new G().setGraph(e.graph());return e.nodes().forEach(n=>t.setNode(n,e.node(n))),e.edges().
forEach(n=>{let r=t.edge(n.v,n.w)||{weight:0,minlen:1},o=e.edge(n);t.setEdge(n.v,n.w,{weight:r.weight+o.weight,minlen:Math.max(r.minlen,o.minlen)})}),t}function Cn(e){
let t=new G({multigraph:e.isMultigraph()}).setGraph(e.graph());return e.nodes().forEach(n=>{e.children(n).length||t.setNode(n,e.node(n))}),e.edges().forEach(n=>{
t.setEdge(n,e.edge(n))}),t}function Zt(e,t){let n=e.x,r=e.y,o=t.x-n,s=t.y-r,i=e.width/2,a=e.height/2;if(!o&&!s)throw new Error("Not possible to find intersectio\
n inside of the rectangle");let u,c;return o===0||Math.abs(s)*i>Math.abs(o)*a?(s<0&&(a=-a),u=a*o/s,c=a):(o<0&&(i=-i),u=i,c=i*s/o),{x:n+u,y:r+c}}function we(e){let t=be(
jn(e)+1).map(()=>[]);return e.nodes().forEach(n=>{let r=e.node(n),o=r.rank;o!==void 0&&(t[o]||(t[o]=[]),t[o][r.order]=n)}),t}function no(e){let t=e.nodes().map(
r=>{let o=e.node(r).rank;return o===void 0?Number.MAX_VALUE:o}),n=Q(Math.min,t);e.nodes().forEach(r=>{let o=e.node(r);Object.hasOwn(o,"rank")&&(o.rank-=n)})}function ro(e){
let t=e.nodes().map(i=>e.node(i).rank).filter(i=>i!==void 0),n=Q(Math.min,t),r=[];e.nodes().forEach(i=>{let a=e.node(i).rank-n;r[a]||(r[a]=[]),r[a].push(i)});let o=0,
s=e.graph().nodeRankFactor;Array.from(r).forEach((i,a)=>{i===void 0&&a%s!==0?--o:i!==void 0&&o&&i.forEach(u=>e.node(u).rank+=o)})}function en(e,t,n,r){let o={width:0,
height:0};return arguments.length>=4&&(o.rank=n,o.order=r),he(e,"border",o,t)}function oo(e,t=Sn){let n=[];for(let r=0;r<e.length;r+=t){let o=e.slice(r,r+t);n.push(
o)}return n}var Sn=65535;function Q(e,t){if(t.length>Sn){let n=oo(t);return e(...n.map(r=>e(...r)))}else return e(...t)}function jn(e){let t=e.nodes().map(n=>{let r=e.
node(n).rank;return r===void 0?Number.MIN_VALUE:r});return Q(Math.max,t)}function so(e,t){let n={lhs:[],rhs:[]};return e.forEach(r=>{t(r)?n.lhs.push(r):n.rhs.push(
r)}),n}function io(e,t){let n=Date.now();try{return t()}finally{console.log(e+" time: "+(Date.now()-n)+"ms")}}function $n(e,t){return t()}var ao=0;function ct(e){
let t=++ao;return e+(""+t)}function be(e,t,n=1){t==null&&(t=e,e=0);let r=s=>s<t;n<0&&(r=s=>t<s);let o=[];for(let s=e;r(s);s+=n)o.push(s);return o}function Pe(e,t){
let n={};for(let r of t)e[r]!==void 0&&(n[r]=e[r]);return n}function Le(e,t){let n;return typeof t=="string"?n=r=>r[t]:n=t,Object.entries(e).reduce((r,[o,s])=>(r[o]=
n(s,o),r),{})}function lo(e,t){return e.reduce((n,r,o)=>(n[r]=t[o],n),{})}var Re="\0";function In(e,t,n){var r,o,s,i,a,u;if(!(e&&t&&n&&t.dummy==="edge"&&n.dummy===
"edge"&&t.edgeObj&&n.edgeObj&&e[t.edgeObj.v]&&e[n.edgeObj.v]&&e[t.edgeObj.w]&&e[n.edgeObj.w]))return 0;let c=!0;t.edgeObj.w===n.edgeObj.w&&(c=!1);let d=c?(o=(r=
e[t.edgeObj.v])==null?void 0:r.rank)!=null?o:NaN+1:(i=(s=e[t.edgeObj.w])==null?void 0:s.rank)!=null?i:NaN-1,f=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===t.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===t.edgeObj.w&&w[1].rank===d}),p=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===n.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===n.edgeObj.w&&w[1].rank===d});if(!f||!p)return 0;let h=(a=f[1].order)!=null?a:NaN,
_=(u=p[1].order)!=null?u:NaN;return isNaN(h-_)?0:h-_}var uo="3.1.3",co=class{constructor(){$r(this,"_sentinel");let e={};e._next=e._prev=e,this._sentinel=e}dequeue(){
let e=this._sentinel,t=e._prev;if(t!==e)return tn(t),t}enqueue(e){let t=this._sentinel;e._prev&&e._next&&tn(e),e._next=t._next,t._next._prev=e,t._next=e,e._prev=
t}toString(){let e=[],t=this._sentinel,n=t._prev;for(;n!==t;)e.push(JSON.stringify(n,ho)),n=n._prev;return"["+e.join(", ")+"]"}};function tn(e){e._prev._next=e.
_next,e._next._prev=e._prev,delete e._next,delete e._prev}function ho(e,t){if(e!=="_next"&&e!=="_prev")return t}var fo=co,po=()=>1;function go(e,t){if(e.nodeCount()<=
1)return[];let n=mo(e,t||po);return _o(n.graph,n.buckets,n.zeroIdx).flatMap(r=>e.outEdges(r.v,r.w)||[])}function _o(e,t,n){var r;let o=[],s=t[t.length-1],i=t[0],
a;for(;e.nodeCount();){for(;a=i.dequeue();)rt(e,t,n,a);for(;a=s.dequeue();)rt(e,t,n,a);if(e.nodeCount()){for(let u=t.length-2;u>0;--u)if(a=(r=t[u])==null?void 0:
r.dequeue(),a){o=o.concat(rt(e,t,n,a,!0)||[]);break}}}return o}function rt(e,t,n,r,o){let s=[],i=o?s:void 0;return(e.inEdges(r.v)||[]).forEach(a=>{let u=e.edge(
a),c=e.node(a.v);o&&s.push({v:a.v,w:a.w}),c.out-=u,lt(t,n,c)}),(e.outEdges(r.v)||[]).forEach(a=>{let u=e.edge(a),c=a.w,d=e.node(c);d.in-=u,lt(t,n,d)}),e.removeNode(
r.v),i}function mo(e,t){let n=new G,r=0,o=0;e.nodes().forEach(a=>{n.setNode(a,{v:a,in:0,out:0})}),e.edges().forEach(a=>{let u=n.edge(a.v,a.w)||0,c=t(a),d=u+c;n.
setEdge(a.v,a.w,d);let f=n.node(a.v),p=n.node(a.w);o=Math.max(o,f.out+=c),r=Math.max(r,p.in+=c)});let s=vo(o+r+3).map(()=>new fo),i=r+1;return n.nodes().forEach(
a=>{lt(s,i,n.node(a))}),{graph:n,buckets:s,zeroIdx:i}}function lt(e,t,n){var r,o,s;n.out?n.in?(s=e[n.out-n.in+t])==null||s.enqueue(n):(o=e[e.length-1])==null||o.
enqueue(n):(r=e[0])==null||r.enqueue(n)}function vo(e){let t=[];for(let n=0;n<e;n++)t.push(n);return t}function bo(e,t){(e.graph().acyclicer==="greedy"?go(e,n(e)):
wo(e,t??null)).forEach(r=>{let o=e.edge(r);e.removeEdge(r),o.forwardName=r.name,o.reversed=!0,e.setEdge(r.w,r.v,o,ct("rev"))});function n(r){return o=>r.edge(o).
weight}}function wo(e,t){let n=[],r={},o={};function s(u){Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,e.outEdges(u).forEach(c=>{Object.hasOwn(r,c.w)?n.push(c):s(c.w)}),
delete r[u])}function i(u){var c;Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,(c=e.outEdges(u))==null||c.forEach(d=>{var f,p;Object.hasOwn(r,d.w)||((f=t.node(u))==null?
void 0:f.rank)>((p=t.node(d.w))==null?void 0:p.rank)&&Eo(e,d.w,d)?n.push(d):i(d.w)}),delete r[u])}let a=s;return t&&typeof t.node=="function"&&(a=i),e.sources().
forEach(a),e.nodes().forEach(a),n}function yo(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.reversed){e.removeEdge(t);let r=n.forwardName;delete n.reversed,delete n.
forwardName,e.setEdge(t.w,t.v,n,r)}})}function Eo(e,t,n){let r=new Set;function o(s){var i;if(e.sources().includes(s))return!0;r.add(s);for(let a of(i=e.inEdges(
s))!=null?i:[])if(!(a.v===n.v&&a.w===n.w)&&!r.has(a.v)&&o(a.v))return!0;return!1}return o(t)}function ko(e){e.graph().dummyChains=[],e.edges().forEach(t=>xo(e,t))}
function xo(e,t){let n=t.v,r=e.node(n).rank,o=t.w,s=e.node(o).rank,i=t.name,a=e.edge(t),u=a.labelRank;if(s===r+1)return;e.removeEdge(t);let c,d,f;for(f=0,++r;r<
s;++f,++r)a.points=[],d={width:0,height:0,edgeLabel:a,edgeObj:t,rank:r},c=he(e,"edge",d,"_d"),r===u&&(d.width=a.width,d.height=a.height,d.dummy="edge-label",d.labelpos=
a.labelpos),e.setEdge(n,c,{weight:a.weight},i),f===0&&e.graph().dummyChains.push(c),n=c;e.setEdge(n,o,{weight:a.weight},i)}function No(e){e.graph().dummyChains.
forEach(t=>{let n=e.node(t),r=n.edgeLabel,o;for(e.setEdge(n.edgeObj,r);n.dummy;)o=e.successors(t)[0],e.removeNode(t),r.points.push({x:n.x,y:n.y}),n.dummy==="edg\
e-label"&&(r.x=n.x,r.y=n.y,r.width=n.width,r.height=n.height),t=o,n=e.node(t)})}function ht(e){let t={};function n(r){let o=e.node(r);if(Object.hasOwn(t,r))return o.
rank;t[r]=!0;let s=e.outEdges(r),i=s?s.map(u=>u==null?Number.POSITIVE_INFINITY:n(u.w)-e.edge(u).minlen):[],a=Q(Math.min,i);return a===Number.POSITIVE_INFINITY&&
(a=0),o.rank=a}e.sources().forEach(n)}function ce(e,t){return e.node(t.w).rank-e.node(t.v).rank-e.edge(t).minlen}var Tn=Oo;function Oo(e){let t=new G({directed:!1}),
n=e.nodes();if(n.length===0)throw new Error("Graph must have at least one node");let r=n[0],o=e.nodeCount();t.setNode(r,{});let s,i;for(;Co(t,e)<o&&(s=So(t,e),!!s);)
i=t.hasNode(s.v)?ce(e,s):-ce(e,s),jo(t,e,i);return t}function Co(e,t){function n(r){let o=t.nodeEdges(r);o&&o.forEach(s=>{let i=s.v,a=r===i?s.w:i;!e.hasNode(a)&&
!ce(t,s)&&(e.setNode(a,{}),e.setEdge(r,a,{}),n(a))})}return e.nodes().forEach(n),e.nodeCount()}function So(e,t){return t.edges().reduce((n,r)=>{let o=Number.POSITIVE_INFINITY;
return e.hasNode(r.v)!==e.hasNode(r.w)&&(o=ce(t,r)),o<n[0]?[o,r]:n},[Number.POSITIVE_INFINITY,null])[1]}function jo(e,t,n){e.nodes().forEach(r=>t.node(r).rank+=
n)}var{preorder:$o,postorder:Io}=ut,To=ae;ae.initLowLimValues=pt;ae.initCutValues=ft;ae.calcCutValue=Mn;ae.leaveEdge=Ln;ae.enterEdge=Rn;ae.exchangeEdges=Dn;function ae(e){
e=to(e),ht(e);let t=Tn(e);pt(t),ft(t,e);let n,r;for(;n=Ln(t);)r=Rn(t,e,n),Dn(t,e,n,r)}function ft(e,t){let n=Io(e,e.nodes());n=n.slice(0,n.length-1),n.forEach(r=>Mo(
e,t,r))}function Mo(e,t,n){let r=e.node(n).parent,o=e.edge(n,r);o.cutvalue=Mn(e,t,n)}function Mn(e,t,n){let r=e.node(n).parent,o=!0,s=t.edge(n,r),i=0;s||(o=!1,s=
t.edge(r,n)),i=s.weight;let a=t.nodeEdges(n);return a&&a.forEach(u=>{let c=u.v===n,d=c?u.w:u.v;if(d!==r){let f=c===o,p=t.edge(u).weight;if(i+=f?p:-p,Lo(e,n,d)){
let h=e.edge(n,d).cutvalue;i+=f?-h:h}}}),i}function pt(e,t){arguments.length<2&&(t=e.nodes()[0]),Pn(e,{},1,t)}function Pn(e,t,n,r,o){let s=n,i=e.node(r);t[r]=!0;
let a=e.neighbors(r);return a&&a.forEach(u=>{Object.hasOwn(t,u)||(n=Pn(e,t,n,u,r))}),i.low=s,i.lim=n++,o?i.parent=o:delete i.parent,n}function Ln(e){return e.edges().
find(t=>e.edge(t).cutvalue<0)}function Rn(e,t,n){let r=n.v,o=n.w;t.hasEdge(r,o)||(r=n.w,o=n.v);let s=e.node(r),i=e.node(o),a=s,u=!1;return s.lim>i.lim&&(a=i,u=!0),
t.edges().filter(c=>u===nn(e,e.node(c.v),a)&&u!==nn(e,e.node(c.w),a)).reduce((c,d)=>ce(t,d)<ce(t,c)?d:c)}function Dn(e,t,n,r){let o=n.v,s=n.w;e.removeEdge(o,s),
e.setEdge(r.v,r.w,{}),pt(e),ft(e,t),Po(e,t)}function Po(e,t){let n=e.nodes().find(o=>!e.node(o).parent);if(!n)return;let r=$o(e,[n]);r=r.slice(1),r.forEach(o=>{
let s=e.node(o).parent,i=t.edge(o,s),a=!1;i||(i=t.edge(s,o),a=!0),t.node(o).rank=t.node(s).rank+(a?i.minlen:-i.minlen)})}function Lo(e,t,n){return e.hasEdge(t,n)}
function nn(e,t,n){return n.low<=t.lim&&t.lim<=n.lim}var Ro=Do;function Do(e){let t=e.graph().ranker;if(typeof t=="function")return t(e);switch(t){case"network-\
simplex":rn(e);break;case"tight-tree":Ao(e);break;case"longest-path":Fo(e);break;case"none":break;default:rn(e)}}var Fo=ht;function Ao(e){ht(e),Tn(e)}function rn(e){
To(e)}var Ho=qo;function qo(e){let t=Vo(e),n=e.graph();Array.isArray(n.dummyChains)&&n.dummyChains.forEach(r=>{let o=e.node(r),s=o.edgeObj,i=Bo(e,t,s.v,s.w),a=i.
path,u=i.lca,c=0,d=a[c],f=!0;for(;r!==s.w;){if(o=e.node(r),f){for(;(d=a[c])!==u&&e.node(d).maxRank<o.rank;)c++;d===u&&(f=!1)}if(!f){for(;c<a.length-1&&e.node(a[c+
1]).minRank<=o.rank;)c++;d=a[c]}d!==void 0&&e.setParent(r,d),r=e.successors(r)[0]}})}function Bo(e,t,n,r){let o=[],s=[],i=Math.min(t[n].low,t[r].low),a=Math.max(
t[n].lim,t[r].lim),u;u=n;do u=e.parent(u),o.push(u);while(u&&(t[u].low>i||a>t[u].lim));let c=u,d=r;for(;(d=e.parent(d))!==c;)s.push(d);return{path:o.concat(s.reverse()),
lca:c}}function Vo(e){let t={},n=0;function r(o){let s=n;e.children(o).forEach(r),t[o]={low:s,lim:n++}}return e.children(Re).forEach(r),t}function Uo(e){let t=he(
e,"root",{},"_root"),n=Wo(e),r=Object.values(n),o=Q(Math.max,r)-1,s=2*o+1;e.graph().nestingRoot=t,e.edges().forEach(a=>e.edge(a).minlen*=s);let i=Yo(e)+1;e.children(
Re).forEach(a=>{Fn(e,t,s,i,o,n,a)}),e.graph().nodeRankFactor=s}function Fn(e,t,n,r,o,s,i){var a;let u=e.children(i);if(!u.length){i!==t&&e.setEdge(t,i,{weight:0,
minlen:n});return}let c=en(e,"_bt"),d=en(e,"_bb"),f=e.node(i);e.setParent(c,i),f.borderTop=c,e.setParent(d,i),f.borderBottom=d,u.forEach(p=>{var h;Fn(e,t,n,r,o,
s,p);let _=e.node(p),w=_.borderTop?_.borderTop:p,b=_.borderBottom?_.borderBottom:p,y=_.borderTop?r:2*r,g=w!==b?1:o-((h=s[i])!=null?h:0)+1;e.setEdge(c,w,{weight:y,
minlen:g,nestingEdge:!0}),e.setEdge(b,d,{weight:y,minlen:g,nestingEdge:!0})}),e.parent(i)||e.setEdge(t,c,{weight:0,minlen:o+((a=s[i])!=null?a:0)})}function Wo(e){
let t={};function n(r,o){let s=e.children(r);s&&s.length&&s.forEach(i=>n(i,o+1)),t[r]=o}return e.children(Re).forEach(r=>n(r,1)),t}function Yo(e){return e.edges().
reduce((t,n)=>t+e.edge(n).weight,0)}function zo(e){let t=e.graph();e.removeNode(t.nestingRoot),delete t.nestingRoot,e.edges().forEach(n=>{e.edge(n).nestingEdge&&
e.removeEdge(n)})}var Go=Ko;function Ko(e){function t(n){let r=e.children(n),o=e.node(n);if(r.length&&r.forEach(t),o&&Object.hasOwn(o,"minRank")){o.borderLeft=[],
o.borderRight=[];for(let s=o.minRank,i=o.maxRank+1;s<i;++s)on(e,"borderLeft","_bl",n,o,s),on(e,"borderRight","_br",n,o,s)}}e.children(Re).forEach(t)}function on(e,t,n,r,o,s){
let i={width:0,height:0,rank:s,borderType:t},a=o[t][s-1],u=he(e,"border",i,n);o[t][s]=u,e.setParent(u,r),a&&e.setEdge(a,u,{weight:1})}function Xo(e){var t;let n=(t=
e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="lr"||n==="rl")&&An(e)}function Jo(e){var t;let n=(t=e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="\
bt"||n==="rl")&&Qo(e),(n==="lr"||n==="rl")&&(Zo(e),An(e))}function An(e){e.nodes().forEach(t=>sn(e.node(t))),e.edges().forEach(t=>sn(e.edge(t)))}function sn(e){
let t=e.width;e.width=e.height,e.height=t}function Qo(e){e.nodes().forEach(t=>ot(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==null||n.forEach(
ot),Object.hasOwn(r,"y")&&ot(r)})}function ot(e){e.y=-e.y}function Zo(e){e.nodes().forEach(t=>st(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==
null||n.forEach(st),Object.hasOwn(r,"x")&&st(r)})}function st(e){let t=e.x;e.x=e.y,e.y=t}function es(e,t=null){let n={},r=e.nodes().filter(c=>!e.children(c).length),
o=r.map(c=>e.node(c).rank),s=Q(Math.max,o),i=be(s+1).map(()=>[]);function a(c){if(n[c])return;n[c]=!0;let d=e.node(c);i[d.rank].push(c);let f=e.successors(c);f&&
[...f].sort((p,h)=>u(p,h)).forEach(a)}r.sort((c,d)=>e.node(c).rank-e.node(d).rank).forEach(a);function u(c,d){let f=e.node(c),p=e.node(d);return In(t,f,p)}return i}
function ts(e,t){let n=0;for(let r=1;r<t.length;++r)n+=ns(e,t[r-1],t[r]);return n}function ns(e,t,n){let r=lo(n,n.map((c,d)=>d)),o=t.flatMap(c=>{let d=e.outEdges(
c);return d?d.map(f=>({pos:r[f.w],weight:e.edge(f).weight})).sort((f,p)=>f.pos-p.pos):[]}),s=1;for(;s<n.length;)s<<=1;let i=2*s-1;s-=1;let a=new Array(i).fill(0),
u=0;return o.forEach(c=>{let d=c.pos+s;a[d]+=c.weight;let f=0;for(;d>0;)d%2&&(f+=a[d+1]),d=d-1>>1,a[d]+=c.weight;u+=c.weight*f}),u}function rs(e,t=[]){return t.
map(n=>{let r=e.inEdges(n);if(!r||!r.length)return{v:n};{let o=r.reduce((s,i)=>{let a=e.edge(i),u=e.node(i.v);return{sum:s.sum+a.weight*u.order,weight:s.weight+
a.weight}},{sum:0,weight:0});return{v:n,barycenter:o.sum/o.weight,weight:o.weight}}})}function os(e,t){let n={};e.forEach((o,s)=>{let i={indegree:0,in:[],out:[],
vs:[o.v],i:s};o.barycenter!==void 0&&(i.barycenter=o.barycenter,i.weight=o.weight),n[o.v]=i}),t.edges().forEach(o=>{let s=n[o.v],i=n[o.w];s!==void 0&&i!==void 0&&
(i.indegree++,s.out.push(i))});let r=Object.values(n).filter(o=>!o.indegree);return ss(r)}function ss(e){let t=[];function n(o){return s=>{s.merged||(s.barycenter===
void 0||o.barycenter===void 0||s.barycenter>=o.barycenter)&&is(o,s)}}function r(o){return s=>{s.in.push(o),--s.indegree===0&&e.push(s)}}for(;e.length;){let o=e.
pop();t.push(o),o.in.reverse().forEach(n(o)),o.out.forEach(r(o))}return t.filter(o=>!o.merged).map(o=>Pe(o,["vs","i","barycenter","weight"]))}function is(e,t){let n=0,
r=0;e.weight&&(n+=e.barycenter*e.weight,r+=e.weight),t.weight&&(n+=t.barycenter*t.weight,r+=t.weight),e.vs=t.vs.concat(e.vs),e.barycenter=n/r,e.weight=r,e.i=Math.
min(t.i,e.i),t.merged=!0}function as(e,t,n,r,o){let s={},i=null,a=null,u=o;typeof t=="boolean"?(u=t,s={}):t&&(s=t,i=n??null,a=r??null);let c=so(e,y=>Object.hasOwn(
y,"barycenter")),d=c.lhs,f=c.rhs.sort((y,g)=>g.i-y.i),p=[],h=0,_=0,w=0;d.sort(ls(a,i,!!u));for(let[y,g]of Object.entries(s)){let v=d.findIndex(m=>m.vs[0]===y);d.
splice(v+1,0,g)}w=an(p,f,w),d.forEach(y=>{w+=y.vs.length,p.push(y.vs),h+=y.barycenter*y.weight,_+=y.weight,w=an(p,f,w)});let b={vs:p.flat(1)};return _&&(b.barycenter=
h/_,b.weight=_),b}function an(e,t,n){let r;for(;t.length&&(r=t[t.length-1]).i<=n;)t.pop(),e.push(r.vs),n++;return n}function ls(e,t,n){return(r,o)=>{if(r.barycenter<
o.barycenter)return-1;if(r.barycenter>o.barycenter)return 1;if(e&&(typeof r.vs[0]=="string"||typeof o.vs[0]=="string")){let s=e.node(r.vs[0]),i=e.node(o.vs[0]),
a=In(t,s,i);if(a!==0)return a}return n?o.i-r.i:r.i-o.i}}function Hn(e,t,n,r,o){var s,i,a,u,c,d,f,p,h,_,w;let b=null,y=o;typeof r=="boolean"?(y=r,b=null):r!==void 0&&
(b=r);let g=e.children(t),v=e.node(t),m=v?v.borderLeft:void 0,E=v?v.borderRight:void 0,j={};m&&(g=g.filter(x=>x!==m&&x!==E));let P=rs(e,g);P.forEach(x=>{if(e.children(
x.v).length){let{result:N}=Hn(e,x.v,n,b,y);j[x.v]=N,Object.hasOwn(N,"barycenter")&&us(x,N)}});let k=os(P,n);ds(k,j);let M={},L=!1;for(let x=0;x<k.length;x++)for(let N=x+
1;N<k.length;N++)if(!(!k[x]||!k[N]||!((s=k[x])!=null&&s.barycenter)||!((i=k[N])!=null&&i.barycenter))&&((a=k[x])==null?void 0:a.barycenter)===k[N].barycenter){let S=(c=
(u=k[x])==null?void 0:u.vs[0])!=null?c:"",O=(f=(d=k[N])==null?void 0:d.vs[0])!=null?f:"",R=e.node(S),de=e.node(O);if(R.dummy==="edge"&&de.dummy==="edge"&&((p=R.
edgeObj)==null?void 0:p.v)===((h=de.edgeObj)==null?void 0:h.v)&&((_=R.edgeObj)==null?void 0:_.w)===((w=de.edgeObj)==null?void 0:w.w))if(R.edgeLabel.reversed){M[O]=
k[x],k.splice(x,1),x--;break}else M[S]||(M[S]=k[N],k.splice(N,1),N--);else L=!0}let C=as(k,M,b,e,y);if(m&&E){C.vs=[m,C.vs,E].flat(1);let x=e.predecessors(m);if(x&&
x.length){let N=e.node(x[0]),S=e.predecessors(E),O=e.node(S[0]);Object.hasOwn(C,"barycenter")||(C.barycenter=0,C.weight=0),C.barycenter=(C.barycenter*C.weight+N.
order+O.order)/(C.weight+2),C.weight+=2}}return Object.defineProperty(C,"result",{value:C,enumerable:!1,configurable:!0,writable:!0}),Object.defineProperty(C,"u\
sedBias",{value:L,enumerable:!1,configurable:!0,writable:!0}),C}function ds(e,t){e.forEach(n=>{n.vs=n.vs.flatMap(r=>t[r]?t[r].vs:r)})}function us(e,t){e.barycenter!==
void 0?(e.barycenter=(e.barycenter*e.weight+t.barycenter*t.weight)/(e.weight+t.weight),e.weight+=t.weight):(e.barycenter=t.barycenter,e.weight=t.weight)}function cs(e,t,n,r){
r||(r=e.nodes());let o=hs(e),s=new G({compound:!0}).setGraph({root:o}).setDefaultNodeLabel(i=>e.node(i));return r.forEach(i=>{let a=e.node(i),u=e.parent(i);if(a.
rank===t||a.minRank<=t&&t<=a.maxRank){s.setNode(i),s.setParent(i,u||o);let c=e[n](i);c&&c.forEach(d=>{let f=d.v===i?d.w:d.v,p=s.edge(f,i),h=p!==void 0?p.weight:
0;s.setEdge(f,i,{weight:e.edge(d).weight+h})}),Object.hasOwn(a,"minRank")&&s.setNode(i,{borderLeft:a.borderLeft[t],borderRight:a.borderRight[t]})}}),s}function hs(e){
let t;for(;e.hasNode(t=ct("_root")););return t}function fs(e,t,n){let r={},o;n.forEach(s=>{let i=e.parent(s),a,u;for(;i;){if(a=e.parent(i),a?(u=r[a],r[a]=i):(u=
o,o=i),u&&u!==i){t.setEdge(u,i);return}i=a}})}function qn(e,t={},n=null){if(typeof t.customOrder=="function"){t.customOrder(e,qn);return}let r=jn(e),o=ln(e,be(1,
r+1),"inEdges"),s=ln(e,be(r-1,-1,-1),"outEdges"),i=es(e,n);if(dn(e,i),t.disableOptimalOrderHeuristic)return;let a=Number.POSITIVE_INFINITY,u,c=t.constraints||[];
for(let d=0,f=0;f<4;++d,++f){ps(d%2?o:s,d%4>=2,c,n),i=we(e);let p=ts(e,i);p<a?(f=0,u=Object.assign({},i),a=p):p===a&&(u=structuredClone(i))}dn(e,u)}function ln(e,t,n){
let r=new Map,o=(s,i)=>{r.has(s)||r.set(s,[]),r.get(s).push(i)};for(let s of e.nodes()){let i=e.node(s);if(typeof i.rank=="number"&&o(i.rank,s),typeof i.minRank==
"number"&&typeof i.maxRank=="number")for(let a=i.minRank;a<=i.maxRank;a++)a!==i.rank&&o(a,s)}return t.map(function(s){return cs(e,s,n,r.get(s)||[])})}function ps(e,t,n,r){
let o=!0,s=new G;e.forEach(function(i){n.forEach(d=>s.setEdge(d.left,d.right));let a=i.graph().root,{result:u,usedBias:c}=Hn(i,a,s,r,o);t&&c&&(o=!o),u.vs.forEach(
(d,f)=>i.node(d).order=f),fs(i,s,u.vs)})}function dn(e,t){Object.values(t).forEach(n=>n.forEach((r,o)=>e.node(r).order=o))}function gs(e,t){let n={};function r(o,s){
let i=0,a=0,u=o.length,c=s[s.length-1];return s.forEach((d,f)=>{let p=ms(e,d),h=p?e.node(p).order:u;(p||d===c)&&(s.slice(a,f+1).forEach(_=>{let w=e.predecessors(
_);w&&w.forEach(b=>{let y=e.node(b),g=y.order;(g<i||h<g)&&!(y.dummy&&e.node(_).dummy)&&Bn(n,b,_)})}),a=f+1,i=h)}),s}return t.length&&t.reduce(r),n}function _s(e,t){
let n={};function r(i){var a;return((a=e.node(i))==null?void 0:a.dummy)==="border"}if(!e.nodes().some(r))return n;function o(i,a,u,c,d){be(a,u).forEach(f=>{let p=i[f];
if(p!==void 0&&e.node(p).dummy){let h=e.predecessors(p);h&&h.forEach(_=>{if(_===void 0)return;let w=e.node(_);w.dummy&&(w.order<c||w.order>d)&&Bn(n,_,p)})}})}function s(i,a){
let u=-1,c=-1,d=0;return a.forEach((f,p)=>{if(r(f)){let h=e.predecessors(f);if(h&&h.length){let _=h[0];if(_===void 0)return;c=e.node(_).order,o(a,d,p,u,c),d=p,u=
c}}o(a,d,a.length,c,i.length)}),a}return t.length&&t.reduce(s),n}function ms(e,t){if(e.node(t).dummy){let n=e.predecessors(t);if(n)return n.find(r=>e.node(r).dummy)}}
function Bn(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];r||(e[t]=r={}),r[n]=!0}function vs(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];return r!==void 0&&Object.hasOwn(
r,n)}function bs(e,t,n,r,o){let s={},i={},a={};return t.forEach(u=>{u.forEach((c,d)=>{s[c]=c,i[c]=c,a[c]=d})}),t.forEach(u=>{let c=-1,d=-1,f=!1,p=u,h=u.findIndex(
_=>o?.includes(_)||un(_,e,o));h>0&&(p=[u[h],...u.slice(0,h),...u.slice(h+1)],f=!0),p.forEach(_=>{var w;let b=r(_);if(b&&b.length){o!=null&&o.includes(_)&&(b=b.filter(
v=>un(v,e,o)));let y=b.sort((v,m)=>{let E=a[v],j=a[m];return(E!==void 0?E:0)-(j!==void 0?j:0)}),g=(y.length-1)/2;for(let v=Math.floor(g),m=Math.ceil(g);v<=m;++v){
let E=y[v];if(E===void 0)continue;let j=a[E];if(j!==void 0&&i[_]===_&&c<j&&a[E]!==d&&!vs(n,_,E)){let P=s[E];P!==void 0&&(i[E]=_,i[_]=s[_]=P,c=j,f&&(c=-1,d=(w=a[E])!=
null?w:-1,f=!1))}}}})}),{root:s,align:i}}function ws(e,t,n,r,o=!1){let s={},i=ys(e,t,n,o),a=o?"borderLeft":"borderRight";function u(h,_){let w=i.nodes().slice(),
b={},y=w.pop();for(;y;){if(b[y])h(y);else{b[y]=!0,w.push(y);for(let g of _(y))w.push(g)}y=w.pop()}}function c(h){let _=i.inEdges(h);_?s[h]=_.reduce((w,b)=>{var y;
let g=(y=s[b.v])!=null?y:0,v=i.edge(b);return Math.max(w,g+(v!==void 0?v:0))},0):s[h]=0}function d(h){let _=i.outEdges(h),w=Number.POSITIVE_INFINITY;_&&(w=_.reduce(
(y,g)=>{let v=s[g.w],m=i.edge(g);return Math.min(y,(v!==void 0?v:0)-(m!==void 0?m:0))},Number.POSITIVE_INFINITY));let b=e.node(h);w!==Number.POSITIVE_INFINITY&&
b.borderType!==a&&(s[h]=Math.max(s[h]!==void 0?s[h]:0,w))}function f(h){return i.predecessors(h)||[]}function p(h){return i.successors(h)||[]}return u(c,f),u(d,
p),Object.keys(r).forEach(h=>{var _;let w=n[h];w!==void 0&&(s[h]=(_=s[w])!=null?_:0)}),s}function ys(e,t,n,r){let o=new G,s=e.graph(),i=Os(s.nodesep,s.edgesep,r);
return t.forEach(a=>{let u;a.forEach(c=>{let d=n[c];if(d!==void 0){if(o.setNode(d),u!==void 0){let f=n[u];if(f!==void 0){let p=o.edge(f,d);o.setEdge(f,d,Math.max(
i(e,c,u),p||0))}}u=c}})}),o}function Es(e,t){return Object.values(t).reduce((n,r)=>{let o=Number.NEGATIVE_INFINITY,s=Number.POSITIVE_INFINITY;Object.entries(r).
forEach(([a,u])=>{let c=Cs(e,a)/2;o=Math.max(u+c,o),s=Math.min(u-c,s)});let i=o-s;return i<n[0]&&(n=[i,r]),n},[Number.POSITIVE_INFINITY,null])[1]}function ks(e,t){
let n=Object.values(t),r=Q(Math.min,n),o=Q(Math.max,n);["u","d"].forEach(s=>{["l","r"].forEach(i=>{let a=s+i,u=e[a];if(!u||u===t)return;let c=Object.values(u),d=r-
Q(Math.min,c);i!=="l"&&(d=o-Q(Math.max,c)),d&&(e[a]=Le(u,f=>f+d))})})}function xs(e,t=void 0){let n=e.ul;return n?Le(n,(r,o)=>{var s,i;if(t){let u=t.toLowerCase(),
c=e[u];if(c&&c[o]!==void 0)return c[o]}let a=Object.values(e).map(u=>{let c=u[o];return c!==void 0?c:0}).sort((u,c)=>u-c);return(((s=a[1])!=null?s:0)+((i=a[2])!=
null?i:0))/2}):{}}function Ns(e,t){let n=we(e),r=Object.assign(gs(e,n),_s(e,n)),o={},s;["u","d"].forEach(a=>{s=a==="u"?n:Object.values(n).reverse(),["l","r"].forEach(
u=>{u==="r"&&(s=s.map(f=>Object.values(f).reverse()));let c=bs(e,s,r,f=>(a==="u"?e.predecessors(f):e.successors(f))||[],t),d=ws(e,s,c.root,c.align,u==="r");u===
"r"&&(d=Le(d,f=>-f)),o[a+u]=d})});let i=Es(e,o);return ks(o,i),xs(o,e.graph().align)}function Os(e,t,n){return(r,o,s)=>{let i=r.node(o),a=r.node(s),u=0,c;if(u+=
i.width/2,Object.hasOwn(i,"labelpos"))switch(i.labelpos.toLowerCase()){case"l":c=-i.width/2;break;case"r":c=i.width/2;break}if(c&&(u+=n?c:-c),c=void 0,u+=(i.dummy?
t:e)/2,u+=(a.dummy?t:e)/2,u+=a.width/2,Object.hasOwn(a,"labelpos"))switch(a.labelpos.toLowerCase()){case"l":c=a.width/2;break;case"r":c=-a.width/2;break}return c&&
(u+=n?c:-c),u}}function Cs(e,t){return e.node(t).width}function un(e,t,n){var r;if(!n)return!1;let o=(r=t.node(e))==null?void 0:r.edgeObj;if(!o||t.node(e).edgeLabel.
reversed)return!1;let s=n.indexOf(o?.v),i=n.indexOf(o?.w);return s!==-1&&i!==-1&&s===(i+1)%n.length||s===(i-1)%n.length}function Ss(e,t){e=Cn(e),js(e),Object.entries(
Ns(e,t)).forEach(([n,r])=>e.node(n).x=r)}function js(e){let t=we(e),n=e.graph(),r=n.ranksep,o=n.rankalign,s=0;t.forEach(i=>{let a=i.reduce((u,c)=>{var d;let f=(d=
e.node(c).height)!=null?d:0;return u>f?u:f},0);i.forEach(u=>{let c=e.node(u);o==="top"?c.y=s+c.height/2:o==="bottom"?c.y=s+a-c.height/2:c.y=s+a/2}),s+=a+r})}var cn=new WeakMap;
function $s(e,t={}){return Vn(e,$n,t),e}function hn(e,t,n){let r=t;for(;r!==void 0;){let o=e.parent(r);if(o===n)return r;r=o}}function Vn(e,t,n){var r;let o=e.nodes().
filter(g=>e.children(g).length),s={};o.forEach(g=>{let v=e.node(g);if(v&&v.rankdir){let m=new G({multigraph:!0,compound:!0});m.setGraph({rankdir:v.rankdir});let E=e.
children(g);E.forEach(S=>{let O={...e.node(S)};m.setNode(S,O);let R=e.parent(S);R&&R!==g&&E.includes(R)&&m.setParent(S,R)});let j=new Set;e.edges().forEach(S=>{
let O=hn(e,S.v,g),R=hn(e,S.w,g);if(O===S.v&&R===S.w)m.setEdge(S,{...e.edge(S)});else if(O&&R&&O!==R){let de=`${O}\0${R}`;j.has(de)||(j.add(de),m.setEdge(O,R,{...e.
edge(S)}))}}),Vn(m,t,n);let P=mn(m);pn(P,t,n,null),gn(m,P);let k=1/0,M=1/0,L=-1/0,C=-1/0;m.nodes().forEach(S=>{if(S===g)return;let O=m.node(S);O&&typeof O.x=="n\
umber"&&typeof O.y=="number"&&typeof O.width=="number"&&typeof O.height=="number"&&(k=Math.min(k,O.x-O.width/2),L=Math.max(L,O.x+O.width/2),M=Math.min(M,O.y-O.height/
2),C=Math.max(C,O.y+O.height/2))}),(!isFinite(k)||!isFinite(M)||!isFinite(L)||!isFinite(C))&&(k=M=0,L=C=0);let x=L-k,N=C-M;s[g]={minX:k,minY:M,maxX:L,maxY:C,width:x,
height:N,offsetX:k,offsetY:M},v._dagreClusterSubgraph=m}});let i=[],a=g=>{let v=[],m=(e.children(g)||[]).filter(E=>E!==g);for(;m.length>0;){let E=m.shift();v.push(
E),(e.children(E)||[]).filter(j=>j!==E).forEach(j=>m.push(j))}return v},u=new Map;o.forEach(g=>{let v=e.node(g);v&&v.rankdir&&s[g]&&u.set(g,(e.children(g)||[]).
filter(m=>m!==g))});let c=new Set([...u.values()].flat()),d=new Map;u.forEach((g,v)=>{c.has(v)||d.set(v,a(v))});let f=new Set([...d.values()].flat()),p=g=>{for(let[
v,m]of d)if(m.includes(g))return v;return g},h=[];e.edges().forEach(g=>{(f.has(g.v)||f.has(g.w))&&h.push({edge:g,label:e.edge(g)})});let _=new Map;f.forEach(g=>{
let v=e.parent(g);_.set(g,typeof v=="string"?v:void 0)}),d.forEach((g,v)=>{let m=e.node(v),E=[];g.forEach(k=>{let M=e.node(k);M&&(E.push({id:k,node:M,parent:_.get(
k)}),e.removeNode(k))});let j=h.filter(({edge:k})=>g.includes(k.v)||g.includes(k.w)),P=s[v];m&&(i.push({clusterId:v,subgraph:m._dagreClusterSubgraph,bounds:P,children:g,
removedNodes:E,removedEdges:j}),m.width=P.width,m.height=P.height)});let w=new Set;h.forEach(({edge:g,label:v})=>{let m=p(g.v),E=p(g.w);if(m!==E&&e.hasNode(m)&&
e.hasNode(E)){let j=`${m}\0${E}`;w.has(j)||(w.add(j),e.setEdge(m,E,{...v,width:0,height:0}))}});let b=mn(e),y=pn(b,t,n,(r=cn.get(e))!=null?r:null);cn.set(e,y),gn(
e,b),w.forEach(g=>{let v=g.indexOf("\0"),m=g.slice(0,v),E=g.slice(v+1);e.hasEdge(m,E)&&e.removeEdge(m,E)}),i.forEach(({clusterId:g,subgraph:v,bounds:m,removedNodes:E,
removedEdges:j})=>{var P,k;let M=e.node(g),L=(P=M?.x)!=null?P:0,C=(k=M?.y)!=null?k:0,x=(m.minX+m.maxX)/2,N=(m.minY+m.maxY)/2;E.forEach(({id:S,node:O,parent:R})=>{
e.setNode(S,O),R!==void 0&&e.setParent(S,R)}),j.forEach(({edge:S,label:O})=>{e.setEdge(S,O)}),v.nodes().forEach(S=>{if(S===g)return;let O=v.node(S),R=e.node(S);
R&&O&&typeof O.x=="number"&&typeof O.y=="number"&&(R.x=L+(O.x-x),R.y=C+(O.y-N))}),fn(e,v,L-x,C-N),delete M._dagreClusterSubgraph}),o.forEach(g=>{var v,m;let E=e.
node(g),j=s[g];if(E&&E.rankdir&&E._dagreClusterSubgraph&&j){let P=E._dagreClusterSubgraph,k=(v=E.x)!=null?v:0,M=(m=E.y)!=null?m:0,L=(j.minX+j.maxX)/2,C=(j.minY+
j.maxY)/2;P.nodes().forEach(x=>{if(x===g)return;let N=P.node(x),S=e.node(x);if(S&&N&&typeof N.x=="number"&&typeof N.y=="number"){let O=N.x-L,R=N.y-C;S.x=k+O,S.y=
M+R}}),fn(e,P,k-L,M-C),delete E._dagreClusterSubgraph}})}function fn(e,t,n,r){t.edges().forEach(o=>{if(!e.hasEdge(o))return;let s=t.edge(o),i=e.edge(o);i.points=
s.points.map(a=>({x:a.x+n,y:a.y+r})),Object.hasOwn(s,"x")&&(i.x=s.x+n,i.y=s.y+r)})}function pn(e,t,n,r=null){var o,s;let i=n?.useDynamic!==!1,a=i&&(o=r?.graph)!=
null?o:null,u=i&&(s=r?.rawNodes)!=null?s:null;t("    makeSpaceForEdgeLabels",()=>Fs(e)),t("    removeSelfEdges",()=>zs(e)),t("    acyclic",()=>bo(e,a)),t("    n\
estingGraph.run",()=>Uo(e)),t("    rank",()=>Ro(Cn(e))),t("    injectEdgeLabelProxies",()=>As(e)),t("    removeEmptyRanks",()=>ro(e)),t("    nestingGraph.cleanu\
p",()=>zo(e)),t("    normalizeRanks",()=>no(e)),t("    assignRankMinMax",()=>Hs(e)),t("    removeEdgeLabelProxies",()=>qs(e)),t("    normalize.run",()=>ko(e)),t(
"    parentDummyChains",()=>Ho(e)),t("    addBorderSegments",()=>Go(e)),t("    order",()=>qn(e,n,u)),t("    insertSelfEdges",()=>Gs(e)),t("    adjustCoordinateS\
ystem",()=>Xo(e)),t("    position",()=>Ss(e,n.corePath)),t("    positionSelfEdges",()=>Ks(e));let c=JSON.parse(JSON.stringify(e._nodes));return t("    removeBor\
derNodes",()=>Ys(e)),t("    normalize.undo",()=>No(e)),t("    fixupEdgeLabelCoords",()=>Us(e)),t("    undoCoordinateSystem",()=>Jo(e)),t("    translateGraph",()=>Bs(
e)),t("    assignNodeIntersects",()=>Vs(e)),t("    reversePoints",()=>Ws(e)),t("    acyclic.undo",()=>yo(e)),{graph:e,rawNodes:c}}function gn(e,t){e.nodes().forEach(
n=>{let r=e.node(n),o=t.node(n);r&&(r.x=o.x,r.y=o.y,r.order=o.order,r.rank=o.rank,t.children(n).length&&(r.width=o.width,r.height=o.height))}),e.edges().forEach(
n=>{let r=e.edge(n),o=t.edge(n);r.points=o.points,Object.hasOwn(o,"x")&&(r.x=o.x,r.y=o.y)}),e.graph().width=t.graph().width,e.graph().height=t.graph().height}var Is=[
"nodesep","edgesep","ranksep","marginx","marginy"],Ts={ranksep:50,edgesep:20,nodesep:50,rankdir:"TB",rankalign:"center"},Ms=["acyclicer","ranker","rankdir","ali\
gn","rankalign"],Ps=["width","height","rank"],_n={width:0,height:0},Ls=["minlen","weight","width","height","labeloffset"],Rs={minlen:1,weight:1,width:0,height:0,
labeloffset:10,labelpos:"r"},Ds=["labelpos"];function mn(e){let t=new G({multigraph:!0,compound:!0}),n=at(e.graph());return t.setGraph(Object.assign({},Ts,it(n,
Is),Pe(n,Ms))),e.nodes().forEach(r=>{let o=at(e.node(r)),s=it(o,Ps);Object.keys(_n).forEach(a=>{s[a]===void 0&&(s[a]=_n[a])}),t.setNode(r,s);let i=e.parent(r);i!==
void 0&&t.setParent(r,i)}),e.edges().forEach(r=>{let o=at(e.edge(r));t.setEdge(r,Object.assign({},Rs,it(o,Ls),Pe(o,Ds)))}),t}function Fs(e){let t=e.graph();t.ranksep/=
2,e.edges().forEach(n=>{var r;let o=e.edge(n);o.minlen*=2,((r=o.labelpos)!=null?r:"r").toLowerCase()!=="c"&&(t.rankdir==="TB"||t.rankdir==="BT"?o.width+=o.labeloffset:
o.height+=o.labeloffset)})}function As(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.width&&n.height){let r=e.node(t.v),o={rank:(e.node(t.w).rank-r.rank)/2+r.rank,
e:t};he(e,"edge-proxy",o,"_ep")}})}function Hs(e){let t=0;e.nodes().forEach(n=>{let r=e.node(n);r.borderTop&&(r.minRank=e.node(r.borderTop).rank,r.maxRank=e.node(
r.borderBottom).rank,t=Math.max(t,r.maxRank))}),e.graph().maxRank=t}function qs(e){e.nodes().forEach(t=>{let n=e.node(t);if(n.dummy==="edge-proxy"){let r=n;e.edge(
r.e).labelRank=n.rank,e.removeNode(t)}})}function Bs(e){let t=Number.POSITIVE_INFINITY,n=0,r=Number.POSITIVE_INFINITY,o=0,s=e.graph(),i=s.marginx||0,a=s.marginy||
0;function u(c){let d=c.x,f=c.y,p=c.width,h=c.height;t=Math.min(t,d-p/2),n=Math.max(n,d+p/2),r=Math.min(r,f-h/2),o=Math.max(o,f+h/2)}e.nodes().forEach(c=>u(e.node(
c))),e.edges().forEach(c=>{let d=e.edge(c);Object.hasOwn(d,"x")&&u(d)}),t-=i,r-=a,e.nodes().forEach(c=>{let d=e.node(c);d.x-=t,d.y-=r}),e.edges().forEach(c=>{let d=e.
edge(c);d.points.forEach(f=>{f.x-=t,f.y-=r}),Object.hasOwn(d,"x")&&(d.x-=t),Object.hasOwn(d,"y")&&(d.y-=r)}),s.width=n-t+i,s.height=o-r+a}function Vs(e){e.edges().
forEach(t=>{if(t.v===t.w)return;let n=e.edge(t),r=e.node(t.v),o=e.node(t.w),s,i;n.points?(s=n.points[0],i=n.points[n.points.length-1]):(n.points=[],s=o,i=r),n.points.
unshift(Zt(r,s)),n.points.push(Zt(o,i))})}function Us(e){e.edges().forEach(t=>{let n=e.edge(t);if(Object.hasOwn(n,"x"))switch((n.labelpos==="l"||n.labelpos==="r")&&
(n.width-=n.labeloffset),n.labelpos){case"l":n.x-=n.width/2+n.labeloffset;break;case"r":n.x+=n.width/2+n.labeloffset;break}})}function Ws(e){e.edges().forEach(t=>{
let n=e.edge(t);n.reversed&&n.points.reverse()})}function Ys(e){e.nodes().forEach(t=>{if(e.children(t).length){let n=e.node(t),r=e.node(n.borderTop),o=e.node(n.
borderBottom),s=e.node(n.borderLeft[n.borderLeft.length-1]),i=e.node(n.borderRight[n.borderRight.length-1]);n.width=Math.abs(i.x-s.x),n.height=Math.abs(o.y-r.y),
n.x=s.x+n.width/2,n.y=r.y+n.height/2}}),e.nodes().forEach(t=>{e.node(t).dummy==="border"&&e.removeNode(t)})}function zs(e){e.edges().forEach(t=>{if(t.v===t.w){let n=e.
node(t.v);n.selfEdges||(n.selfEdges=[]),n.selfEdges.push({e:t,label:e.edge(t)}),e.removeEdge(t)}})}function Gs(e){we(e).forEach(t=>{let n=0;t.forEach((r,o)=>{let s=e.
node(r);typeof s.rank!="number"&&(s.rank=0),s.order=o+n,(s.selfEdges||[]).forEach(i=>{he(e,"selfedge",{width:i.label.width,height:i.label.height,rank:s.rank,order:o+
++n,e:i.e,edgeLabel:i.label},"_se"),(!Array.isArray(i.label.points)||i.label.points.length!==7)&&(i.label.points=[{x:0,y:-10},{x:0,y:-10},{x:0,y:0},{x:0,y:10},{
x:0,y:10},{x:0,y:0},{x:0,y:0}])}),delete s.selfEdges})})}function Ks(e){e.nodes().forEach(t=>{let n=e.node(t),r=o=>typeof o=="number"&&isFinite(o);if(n.dummy===
"selfedge"){let o=n,s=e.node(o.e.v),i=r(s?.x)?s.x:0,a=r(s?.y)?s.y:0,u=r(s?.width)?s.width:0,c=r(s?.height)?s.height:0,d=r(n.x)?n.x:i,f=r(n.y)?n.y:a,p=u/2,h=c/2;
o.edgeLabel.points=[{x:d+p,y:f-h},{x:d+p,y:f-h},{x:d,y:f},{x:d-p,y:f+h},{x:d-p,y:f+h},{x:d,y:f},{x:d,y:f}],o.edgeLabel.x=d,o.edgeLabel.y=f,e.setEdge(o.e,o.edgeLabel),
e.removeNode(t)}else n&&Array.isArray(n.selfEdges)&&n.selfEdges.forEach(o=>{if(!Array.isArray(o.label.points)||o.label.points.length!==7){let s=r(n.x)?n.x:0,i=r(
n.y)?n.y:0,a=r(n.width)?n.width:0,u=r(n.height)?n.height:0,c=a/2,d=u/2;o.label.points=[{x:s+c,y:i-d},{x:s+c,y:i-d},{x:s,y:i},{x:s-c,y:i+d},{x:s-c,y:i+d},{x:s,y:i},
{x:s,y:i}]}})})}function it(e,t){return Le(Pe(e,t),Number)}function at(e){let t={};return e&&Object.entries(e).forEach(([n,r])=>{typeof n=="string"&&(n=n.toLowerCase()),
t[n]=r}),t}function Xs(e){let t=we(e),n=new G({compound:!0,multigraph:!0}).setGraph({});return e.nodes().forEach(r=>{n.setNode(r,{label:r}),n.setParent(r,"layer"+
e.node(r).rank)}),e.edges().forEach(r=>n.setEdge(r.v,r.w,{},r.name)),t.forEach((r,o)=>{let s="layer"+o;n.setNode(s,{rank:"same"}),r.reduce((i,a)=>(n.setEdge(i,a,
{style:"invis"}),a))}),n}var Js={graphlib:bn,version:uo,layout:$s,debug:Xs,util:{time:io,notime:$n}},gt=Js;var Qs=7.3,Un=17;function Zs(e){let t=[],n=[],r=e.exports??[];r.forEach((u,c)=>{t.push({id:`export ${u.cluster}`,lines:[`ServiceExport in ${u.cluster}`,u.status+
(c===0&&r.length>1?", oldest":""),(u.ports??[]).join(" ")],tone:["Published","Ready"].includes(u.status)?"":"warning"}),n.push([`export ${u.cluster}`,"merge"])});
let o=(e.values??[]).filter(u=>Object.keys(u.others??{}).length).length;t.push({id:"merge",lines:["merge",o?`${o} conflicts: the oldest wins`:`${(e.values??[]).
length} properties agree`],tone:o?"warning":""});let s=e.import;t.push({id:"import",lines:s?[`ServiceImport in ${e.cluster}`,`${s.type}, ${s.status}`,(s.ips??[]).
join(" ")]:[`no ServiceImport in ${e.cluster}`],tone:s?.status==="Ready"?"good":"error"}),n.push(["merge","import"]);let i=e.records??[];t.push({id:"dns",lines:[
"DNS",...i.length?i.map(u=>`${u.type} ${u.values?.[0]??""}${u.total>1?` and ${u.total-1} more`:""}`):["no answer"],e.dns?.length?`by ${e.dns.join(", ")}`:"not f\
orwarded"],tone:i.length&&e.dns?.length?"good":"error"}),n.push(["import","dns"]);let a=e.derivedService?"service":"import";e.derivedService&&(t.push({id:"servi\
ce",lines:["derived Service",e.derivedService]}),n.push(["import","service"]));for(let u of e.sources??[]){let d=(e.endpoints??[]).filter(f=>f.cluster===u.cluster).
filter(f=>f.state==="Standby");t.push({id:`endpoints ${u.cluster}`,lines:[`endpoints of ${u.cluster}`,`${u.readyHere} ready of ${u.imported}`,d.length?`${d.length}\
 on standby (${d[0].reason})`:""],tone:u.readyHere?"good":d.length?"warning":"error"}),n.push([a,`endpoints ${u.cluster}`])}return{nodes:t.map(u=>({...u,lines:u.
lines.filter(Boolean).map(ei)})),edges:n}}function ei(e){return e.length>40?e.slice(0,39)+"\u2026":e}function Wn({detail:e}){let{nodes:t,edges:n}=Zs(e),r=new gt.
graphlib.Graph().setGraph({rankdir:"LR",nodesep:12,ranksep:36,marginx:4,marginy:4}).setDefaultEdgeLabel(()=>({}));for(let i of t)r.setNode(i.id,{width:Math.max(
...i.lines.map(a=>a.length))*Qs+20,height:i.lines.length*Un+14});for(let[i,a]of n)r.setEdge(i,a);gt.layout(r);let{width:o=0,height:s=0}=r.graph();return l("div",
{class:"scroll",tabIndex:0,role:"region","aria-label":"The way of the service",children:l("svg",{class:"flow",role:"img","aria-label":t.map(i=>i.lines.join(" ")).
join("; "),width:o,height:s,viewBox:`0 0 ${o} ${s}`,children:[r.edges().map(i=>l("path",{class:"edge",d:`M${r.edge(i).points.map(a=>`${a.x} ${a.y}`).join("L")}`})),
t.map(i=>{let a=r.node(i.id);return l("g",{class:i.tone,transform:`translate(${a.x-a.width/2} ${a.y-a.height/2})`,children:[l("rect",{width:a.width,height:a.height,
rx:5}),i.lines.map((u,c)=>l("text",{x:10,y:Un*(c+1)+1,class:c?"":"head",children:u}))]})})]})})}function zn(){let{overview:e,services:t}=V(),{rest:n,query:r}=W(),o=n.join("/"),s=t.get(o);if(!e)return l(F,{children:"Reading the clusters."});let i=z(e).filter(
u=>u.context!==void 0&&u.state!=="unread"),a=r.get("cluster")||(i.find(u=>s?.imports?.[u.id])??i[0])?.id||"";return l($,{children:[l(U,{children:o}),!s&&l(F,{children:"\
No cluster that is read exports or imports this service."}),s&&l(ti,{row:s}),!D&&i.length>0&&l($,{children:[l("h2",{children:l(J,{label:"As seen from",value:a,of:i.
map(u=>[u.id,u.id]),onChange:u=>Y({cluster:u})})}),l(ri,{id:o,cluster:a,seen:JSON.stringify(s??null)+e.clusters.map(q).join()})]}),D&&l(ni,{row:s})]})}function ti({
row:e}){return l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"The service in each cluster",children:l("table",{children:[l("thead",{children:l("\
tr",{children:[l("th",{scope:"col",children:"Cluster"}),l("th",{scope:"col",children:"Export"}),l("th",{scope:"col",children:"Import"}),l("th",{scope:"col",children:"\
Ready"}),l("th",{scope:"col",children:"From"})]})}),l("tbody",{children:z(I.overview).map(t=>{let[n,r]=[e.exports?.[t.id],e.imports?.[t.id]];return l("tr",{class:q(
t)?"stale":"",children:[l("th",{scope:"row",children:[t.id," ",q(t)&&l("span",{class:"tag",children:q(t)})]}),l("td",{children:n&&l(Yn,{cell:n})}),l("td",{children:r&&
l(Yn,{cell:r})}),l("td",{children:r&&(r.u?"unknown":`${r.r??0} of ${r.n??0}`)}),l("td",{children:Object.entries(r?.f??{}).sort().map(([o,[s,i]])=>`${o}: ${s}${i?
` (+${i} on standby)`:""}`).join(", ")})]})})})]})})}function Yn({cell:e}){return l($,{children:[e.p&&l(me,{of:e.p})," ",e.s,e.m&&l("span",{class:"small",children:[
": ",e.m]})]})}function ni({row:e}){return e?.conflicts?.length?l($,{children:[l("h2",{children:"Conflicts"}),l(Gn,{all:e.conflicts})]}):null}function Gn({all:e,
why:t}){return l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Merged properties",children:l("table",{children:[l("thead",{children:l("tr",{children:[
l("th",{scope:"col",children:"Property"}),l("th",{scope:"col",children:"Value"}),l("th",{scope:"col",children:"From"}),l("th",{scope:"col",children:"Others want"})]})}),
l("tbody",{children:e.map(n=>l("tr",{children:[l("th",{scope:"row",children:n.property}),l("td",{children:n.using}),l("td",{children:[n.from,t&&n.others?` (${t}\
)`:""]}),l("td",{children:Object.entries(n.others??{}).map(([r,o])=>`${r}: ${o}`).join(", ")})]}))})]})})}function ri({id:e,cluster:t,seen:n}){let r=ie(`${e} ${t}`,
n,15,s=>se("explain",{service:e,cluster:t},s)),o=r.value;return l("section",{"aria-busy":r.loading,children:[r.loading&&!o&&l(F,{children:["Reading ",t,"."]}),r.
error&&l(F,{children:r.error}),o&&l($,{children:[l("p",{children:[l("code",{children:o.name})," ",l("strong",{class:`verdict ${o.verdict==="works"?"good":o.verdict===
"does not work"?"bad":"warn"}`,children:o.verdict})," in ",o.cluster,". ",l("span",{class:"small",children:["Read ",Z(r.at),"."]})]}),l(Wn,{detail:o}),l("h3",{children:"\
Findings"}),l(Ie,{all:o.findings}),o.values&&l($,{children:[l("h3",{children:"Merged properties"}),l(Gn,{all:o.values,why:"oldest export"})]}),l("h3",{children:"\
Endpoints"}),l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Endpoints",children:l("table",{children:[l("thead",{children:l("tr",{children:[l("th",
{scope:"col",children:"Address"}),l("th",{scope:"col",children:"Cluster"}),l("th",{scope:"col",children:"State"}),l("th",{scope:"col",children:"Ports"}),l("th",
{scope:"col",children:"Zone"})]})}),l("tbody",{children:(o.endpoints??[]).slice(0,500).map(s=>l("tr",{children:[l("th",{scope:"row",children:s.addresses.join(" ")}),
l("td",{children:s.cluster}),l("td",{children:s.state+(s.reason?` (${s.reason})`:"")}),l("td",{children:(s.ports??[]).join(" ")}),l("td",{children:s.zone})]}))})]})}),
(o.endpoints?.length??0)>500&&l("p",{class:"small",children:["The first 500 of ",o.endpoints.length,"."]}),l("h3",{children:"Commands"}),o.commands.map(s=>l("p",
{children:l(ne,{text:s})})),l("h3",{children:"Objects"}),(o.objects??[]).map(s=>l("details",{children:[l("summary",{children:s.name}),l("pre",{tabIndex:0,children:s.
yaml})]}))]})]})}var le=30,Kn=10,oi=[["","all"],["problem","with problems"],["conflict","in conflict"],["standby","with standby"],["unserved","without a ready endpoint"]];function si(e,t,n){
let r=o=>n?[o?.[n]].filter(s=>s!==void 0):Object.values(o??{});switch(t){case"problem":return[...r(e.exports),...r(e.imports)].some(o=>o.p);case"conflict":return!!e.
conflicts?.length;case"standby":return r(e.imports).some(o=>o.b);case"unserved":return r(e.imports).some(o=>!o.r&&!o.u)}return!n||r(e.exports).length+r(e.imports).
length>0}function ii(e,t,n,r,o){let s=t.toLowerCase().split(/\s+/).filter(Boolean);return e.filter(i=>(!n||i.id.startsWith(n+"/"))&&s.every(a=>i.id.includes(a))&&
(!r&&!o||si(i,r,o)))}function Qn(){let{overview:e,sorted:t,version:n}=V(),{query:r}=W(),[o,s,i,a]=["q","ns","state","cluster"].map(p=>r.get(p)??""),u=_e(null),c=$e(
()=>ii(t,o,s,i,a),[n,o,s,i,a]),d=$e(()=>[...new Set(t.map(p=>p.id.split("/")[0]))],[t]);if(K(()=>{let p=h=>{h.key==="/"&&!h.target.closest("input, select, texta\
rea")&&(h.preventDefault(),u.current?.focus())};return addEventListener("keydown",p),()=>removeEventListener("keydown",p)},[]),!e)return l(F,{children:"Reading \
the clusters."});let f=z(e);return l($,{children:[l(U,{children:"Services"}),l("form",{class:"filter",role:"search",onSubmit:p=>p.preventDefault(),children:[l("\
label",{children:["Filter ",l("kbd",{"aria-hidden":"true",children:"/"})," ",l("input",{ref:u,type:"search",value:o,"aria-keyshortcuts":"/",onInput:p=>Y({q:p.currentTarget.
value})})]}),l(J,{label:"Namespace",value:s,of:[["","all"],...d.map(p=>[p,p])],onChange:p=>Y({ns:p})}),l(J,{label:"State",value:i,of:oi,onChange:p=>Y({state:p})}),
l(J,{label:"Cluster",value:a,of:[["","all"],...f.map(p=>[p.id,p.id])],onChange:p=>Y({cluster:p})}),l("output",{"aria-live":"polite",children:[c.length," of ",t.
length]})]}),l(ai,{rows:c,clusters:a?f.filter(p=>p.id===a):f}),l("p",{class:"small",children:[l("span",{class:"legend",children:"\u2191 exports"}),l("span",{class:"\
legend",children:"\u2193 imports: ready endpoints of all, + on standby"}),l("span",{class:"legend",children:"\u2260 conflict"})]})]})}function ai({rows:e,clusters:t}){
let n=_e(null),[r,o]=B(0),[s,i]=B(600),[a,u]=B(0);K(()=>{let p=new ResizeObserver(()=>i(n.current?.clientHeight??600));return p.observe(n.current),()=>p.disconnect()},
[]);let c=Math.max(0,Math.min(Math.floor(r/le)-Kn,e.length-1)),d=Math.min(e.length,Math.ceil((r+s)/le)+Kn);return l("div",{class:"scroll services",ref:n,tabIndex:0,
role:"region","aria-label":"Services and clusters",onScroll:p=>o(p.currentTarget.scrollTop),onKeyDown:p=>{let h={ArrowDown:1,ArrowUp:-1,PageDown:15,PageUp:-15,Home:-e.
length,End:e.length}[p.key];if(!h||!e.length)return;p.preventDefault();let _=Math.max(0,Math.min(e.length-1,a+h));u(_);let w=_*le,b=n.current;w<b.scrollTop?b.scrollTop=
w:w+2*le>b.scrollTop+b.clientHeight&&(b.scrollTop=w+2*le-b.clientHeight),requestAnimationFrame(()=>requestAnimationFrame(()=>b.querySelector(`[data-at="${_}"] a`)?.
focus({preventScroll:!0})))},children:l("table",{"aria-rowcount":e.length+1,children:[l("thead",{children:l("tr",{"aria-rowindex":1,children:[l("th",{scope:"col",
children:"Service"}),t.map(p=>l("th",{scope:"col",class:q(p)?"stale":"",title:q(p),children:p.id}))]})}),l("tbody",{children:[c>0&&l("tr",{class:"space","aria-h\
idden":"true",ref:p=>{p?.style.setProperty("height",`${c*le}px`)}}),e.slice(c,d).map((p,h)=>l("tr",{"data-at":c+h,"aria-rowindex":c+h+2,children:[l("th",{scope:"\
row",children:[l("a",{href:ue(p.id),onFocus:()=>u(c+h),children:p.id}),p.conflicts?.length?l("a",{class:"tag conflict",href:`#/conflicts?q=${p.id}`,"aria-label":`${p.
conflicts.length} conflicts`,tabIndex:-1,children:"\u2260"}):null]}),t.map(_=>l(li,{row:p,c:_}))]},p.id)),d<e.length&&l("tr",{class:"space","aria-hidden":"true",
ref:p=>{p?.style.setProperty("height",`${(e.length-d)*le}px`)}})]})]})})}function li({row:e,c:t}){let n=e.exports?.[t.id],r=e.imports?.[t.id],o=[n,r].map(i=>i?.
p).sort((i,a)=>Xn(i)-Xn(a))[0],s=[n&&`exports: ${Jn(n)}`,r&&`imports: ${Jn(r)}, ${r.u?"endpoints unknown":`${r.r??0} of ${r.n??0} endpoints ready`}${r.b?`, ${r.
b} on standby`:""}`,q(t)].filter(Boolean);return l("td",{class:`${o??""} ${q(t)?"stale":""}`,title:s.join(`
`),children:[!n&&!r&&t.unread?.length?"?":"",n&&"\u2191",r&&(r.u?" \u2193 ?":` \u2193 ${r.r??0}/${r.n??0}`),r?.b?` +${r.b}`:"",o&&l("span",{class:"hidden",children:o})]})}
function Xn(e){return["error","warning","pending",void 0].indexOf(e)}function Jn(e){return e.s+(e.m?` (${e.m})`:"")}var Zn={clusters:["Clusters",Wt],services:["Services",Qn],conflicts:["Conflicts",zt],checks:["Checks",Gt],events:["Events",Kt],"what-if":["What if",Xt]};function di(){
let{overview:e,connected:t}=V(),{page:n}=W(),r=n==="service"?zn:Zn[n]?.[1];return l($,{children:[l("a",{class:"skip",href:"#main",onClick:o=>(o.preventDefault(),
document.getElementById("main")?.focus()),children:"Skip to the content"}),l("header",{children:[l("strong",{children:["Atoll ",e?.clusterset]}),l("nav",{"aria-\
label":"Pages",children:Object.entries(Zn).map(([o,[s]])=>l("a",{href:`#/${o}`,"aria-current":o===n||o==="services"&&n==="service"?"page":void 0,children:s}))}),
l("span",{class:`live ${t?"good":"bad"}`,role:"status",children:D?`snapshot of ${new Date(D.overview.at).toLocaleString()}`:t?"live":"not connected"})]}),l("mai\
n",{id:"main",tabIndex:-1,class:t?"":"stale",children:[!t&&e&&l(F,{children:"atoll console does not answer: what is shown is old. If it has ended, run it again."}),
r?l(r,{}):l(U,{children:["There is no page ",n]})]})]})}Ut();St(l(di,{}),document.getElementById("app"));})();
