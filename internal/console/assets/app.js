"use strict";(()=>{var I,mt,Zn,Q,Re,Ne,vt,ye,bt,Fe,De,er,ce=Symbol.for("pv"),Oe={},Ce=[],tr=/^m(i|n|o|s|text|space)$/,Ae=Array.isArray,wt=Ce.slice,ne=Object.assign;function te(e){
e&&e.parentNode&&e.remove()}function Ee(e,t,n,r,o){var s={type:e,props:t,key:n,ref:r,__k:null,__:null,__b:0,__e:null,__c:null,constructor:ce,__v:o||++mt,__i:-1,__u:0};return!o&&I.vnode&&I.
vnode(s),s}function $(e){return e.children}function ke(e,t){this.props=e,this.context=t,this.__g=0}function Z(e,t){if(t==null)return e.__&&Z(e.__,e.__i+1);for(var n;t<e.__k.
length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:Z(e)}function nr(e){var t,n=e.__v,r=n.__e,o=[],s=[],i=e.__P;i&&
((t=ne({constructor:ce},n)).__v=n.__v+1,I.vnode&&I.vnode(t),He(i,t,n,e.__n,i.namespaceURI,32&n.__u?[r]:null,o,r||Z(n),32&n.__u,s),t.__v=n.__v,t.__.__k[t.__i]=t,
Ot(o,t,s),n.__=n.__e=null,t.__e!=r&&yt(t))}function yt(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),yt(
e)}function gt(e){(8&e.__g||(e.__g|=8,Q.push(e),Ne++))&&Re==I.debounceRendering||((Re=I.debounceRendering)||queueMicrotask)(Et)}function Et(){try{for(var e,t=1;Q.
length;)Q.length>t&&Q.sort(vt),e=Q.shift(),t=Q.length,8&e.__g&&nr(e)}finally{(Ne=Q.length)&&(Re||queueMicrotask)(Et)}}function kt(e,t,n,r,o,s,i,a,u,c,d){var h,p,
f,_,w,b,y=r.__k||Ce,g=t.length;for(u=rr(n,t,y,u,g),h=0;h<g;h++)(f=n.__k[h])!=null&&(p=~f.__i&&y[f.__i]||Oe,f.__i=h,b=He(e,f,p,o,s,i,a,u,c,d),_=f.__e,(p.ref!=f.ref||
8&p.__u)&&(p.ref&&qe(p.ref,null,f,p),f.ref&&d.push(f.ref,f.__c||_,f)),w=w||_,4&f.__u?(u=xt(f,u,e,!p.__v),p.__e&&(p.__e=null)):typeof f.type=="function"&&b!==void 0?
u=b:_&&(u=_.nextSibling),f.__u&=-21);return n.__e=w,u}function rr(e,t,n,r,o){var s,i,a,u,c,d,h,p,f,_=n.length,w=_,b=0,y=0,g=e.__k=Array(o);for(s=0;s<o;s++)(i=t[s])!=
null&&typeof i!="boolean"&&typeof i!="function"?(typeof i!="object"||i.constructor===String?i=g[s]=Ee(null,i):Ae(i)?i=g[s]=Ee($,{children:i}):i.constructor===ce&&
i.__b?i=g[s]=Ee(i.type,i.props,i.key,i.ref,i.__v):g[s]=i,u=s+b,i.__=e,i.__b=e.__b+1,a=null,~(c=i.__i=or(i,n,u,w))&&(w--,(a=n[c])&&(a.__u|=2)),a&&a.__v?(i.__u|=16,
c==u-1?b--:c==u+1?b++:c!=u&&(c>u?b--:b++,y=1)):(~c||(o>_?b--:o<_&&b++),typeof i.type!="function"&&(i.__u|=4))):g[s]=null;if(y){for(d=[],h=[],s=0;s<o;s++)if((i=g[s])&&
16&i.__u){for(b=0,p=d.length;b<p;)d[f=b+p>>1]<i.__i?b=f+1:p=f;d[b]=i.__i,h[s]=b+1}for(b=d.length;s--;)h[s]&&(h[s]==b?b--:g[s].__u|=4)}if(w)for(s=0;s<_;s++)!(a=n[s])||
2&a.__u||(a.__e==r&&(r=Z(a)),Be(a,a));return r}function xt(e,t,n,r){var o,s,i,a;if(typeof e.type=="function"){if(e.props.__P)return t;if(o=e.__k)for(s=0;s<o.length;s++)
o[s]&&(o[s].__=e,t=xt(o[s],t,n,!1));return t}for(t&&!t.parentNode&&(t=Z(e))&&!t.parentNode&&(t=null),i=e.__e,a=t;a&&a.nodeType==8;)a=a.nextSibling;for(i!=a&&(!r&&
n.moveBefore&&i.parentNode?n.moveBefore(i,t):n.insertBefore(i,t||null)),t=i;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith("$s"););return t}function or(e,t,n,r){var o,s=e.key,i=e.type,a=t[n],u=a&&!(2&a.__u);if(a===null&&s==null||u&&s==a.key&&i==a.type)return n;if(r>(u?1:0)){for(o=n-1;o>=0;o--)if((a=
t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o;for(o=n+1;o<t.length;o++)if((a=t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o}return-1}function _t(e,t,n){n==null&&
(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function we(e,t,n,r,o){var s,i;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof r=="string"&&(e.style.
cssText=r=""),r)for(t in r)n&&t in n||_t(e.style,t);if(n)for(t in n)r&&n[t]==r[t]||_t(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),
typeof r!="function"&&(r=null),(e.__e||(e.__e={}))[t]=n,n&&r||(i=De[t]||(De[t]=sr(t)),(e.__a||(e.__a={}))[t]=Fe,s=t!=(t=t.replace(bt,"$1")),(t=t.slice(2))[0]<"a"&&
(t=t.toLowerCase()),n?e.addEventListener(t,i,s):e.removeEventListener(t,i,s));else{if(o=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,
"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)
try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function sr(e){
return function(t){var n=this.__e;if(n){if(n=n[e],t[ye]==null)t[ye]=Fe++;else if(t[ye]<this.__a[e])return;return n(I.event?I.event(t):t)}}}function He(e,t,n,r,o,s,i,a,u,c){
var d,h,p,f,_,w,b,y,g,v,m,E,j,L,k,P,R,C,x=t.type;if(t.constructor!==ce)return null;128&n.__u&&(u=32&n.__u,d=n.__c.__z)&&(t.__u|=u,h=s=[],d.nodeType==8?a=xe(d,s):
s.push(d),a=s[0]||a),(d=I.__b)&&d(t);e:if(typeof x=="function"){p=i.length;try{if(y=t.props,g=(d=x.prototype)&&d.render,v=(d=x.contextType)&&r[d.__c],m=d?v?v.props.
value:d.__:r,(f=n.__c)?(t.__c=f,2&f.__g&&(f.__g|=1)):(g?t.__c=f=new x(y,m):(t.__c=f=new ke(y,m),f.constructor=x,f.render=ar),v&&v.sub(f),f.state||(f.state={}),f.
__n=r,f.__g|=8,f.__h=[],f.__k=[]),g&&(f.__s||(f.__s=f.state),x.getDerivedStateFromProps&&(f.__s==f.state&&(f.__s=ne({},f.__s)),ne(f.__s,x.getDerivedStateFromProps(
y,f.__s)))),_=f.props,w=f.state,f.__v=t,n.__c){if(y!==_&&g&&!x.getDerivedStateFromProps&&f.componentWillReceiveProps&&f.componentWillReceiveProps(y,m),t.__v==n.
__v&&!(8&f.__g)||!(4&f.__g)&&f.shouldComponentUpdate&&f.shouldComponentUpdate(y,f.__s,m)===!1){t.__v!=n.__v&&(f.props=y,f.state=f.__s,f.__g&=-9),t.__e=n.__e,t.__k=
n.__k,t.__k.some(function(N){N&&(N.__=t)}),Ce.push.apply(f.__h,f.__k),f.__k=[],f.__h.length&&i.push(f),a=Z(n);break e}f.componentWillUpdate&&f.componentWillUpdate(
y,f.__s,m),g&&f.componentDidUpdate&&f.__h.push(function(){f.componentDidUpdate(_,w,b)})}else g&&!x.getDerivedStateFromProps&&f.componentWillMount&&f.componentWillMount(),
g&&f.componentDidMount&&f.__h.push(f.componentDidMount);f.context=m,f.props=y,f.__P=e,f.__g&=-5,E=I.__r,j=g?25:0;do f.__g&=-9,E&&E(t),d=f.render(f.props,f.state=
f.__s,f.context);while(8&f.__g&&++j<25);g&&(Ce.push.apply(f.__h,f.__k),f.__k=[]),f.state=f.__s,f.getChildContext&&(r=ne({},r,f.getChildContext())),g&&n.__c&&f.getSnapshotBeforeUpdate&&
(b=f.getSnapshotBeforeUpdate(_,w)),L=d&&d.type===$&&d.key==null?d.props.children:d,y.__P&&(d=a,o=(e=y.__P).namespaceURI,u=s=null,n.props&&n.props.__P!=e&&(n.__k.
some(function(N){N&&Be(N,N)}),n.__k=null),a=n.__k?Z(n,0):null),a=kt(e,Ae(L)?L:[L],t,n,r,o,s,i,a,u,c),y.__P&&(t.__e=null,a=d),t.__u&=-161,h&&h.some(te),f.__h.length&&
i.push(f),1&f.__g&&(f.__g&=-4)}catch(N){if(i.length=p,t.__v=null,u||s)if(N&&N.then){if(t.__u|=128|u,s){for(~(R=s.indexOf(a||void 0))||(R=s.length);(C=s[R-1])&&C.
nodeType==8;)R--;for(;R<s.length;R++)if(C=s[R])if(s[R]=null,k){if(C==P)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(P=xe(k=C))}}if(!k){for(;a&&a.
nodeType==8&&a.nextSibling;)a=a.nextSibling;k=a}(d=xe(k=t.__c.__z||(t.__c.__z=k)))?(t.__e=k,a=d):t.__e=a,a=a&&a.nextSibling}else s&&s.some(te);else t.__e=n.__e;
t.__k||(t.__k=n.__k||[]),N&&N.then||Nt(t),I.__e(N,t,n)}}else a=t.__e=ir(n.__e,t,n,r,o,s,i,u,c,e);return(d=I.diffed)&&d(t),a}function xe(e,t){if(e&&e.nodeType==8&&
e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(
e)}}function Nt(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(Nt))}function Ot(e,t,n){for(var r=0;r<n.length;)qe(n[r++],n[r++],n[r++]);I.__c&&I.__c(t,e),e.some(
function(o){try{e=o.__h,o.__h=[],e.some(function(s){s.call(o)})}catch(s){I.__e(s,o.__v)}})}function ir(e,t,n,r,o,s,i,a,u,c){var d,h,p,f,_,w,b,y,g=n.props||Oe,v=t.
props,m=t.type;if(m=="svg"?o="http://www.w3.org/2000/svg":m=="math"?o="http://www.w3.org/1998/Math/MathML":o||(o="http://www.w3.org/1999/xhtml"),s){for(d=0;d<s.
length;d++)if((_=s[d])&&(m?_.localName==m:_.nodeType==3)){e=_,s[d]=null;break}}if(!e){if(y=c.ownerDocument||document,!m)return y.createTextNode(v);e=y.createElementNS(
o,m,v.is?v:c),a&&(I.__m&&I.__m(t,s),a=!1),s=null}if(m){if(c=m=="template"&&e.content||e,s=m=="textarea"&&v.defaultValue!=null?null:s&&wt.call(c.childNodes),!a&&
s)for(g={},d=0;d<e.attributes.length;d++)g[(_=e.attributes[d]).name]=_.value;for(d in g)_=g[d],d=="dangerouslySetInnerHTML"?p=_:d=="children"||d in v||d=="value"&&
"defaultValue"in v||d=="checked"&&"defaultChecked"in v||we(e,d,null,_,o);for(d in v)_=v[d],d=="children"?f=_:d=="dangerouslySetInnerHTML"?h=_:d=="value"?w=_:d==
"checked"?b=_:a&&typeof _!="function"||g[d]===_||we(e,d,_,g[d],o);h?(a||p&&(h.__html==p.__html||h.__html==e.innerHTML)||(e.innerHTML=h.__html),t.__k=[]):(p&&(e.
textContent=""),(m=="foreignObject"||o=="http://www.w3.org/1998/Math/MathML"&&tr.test(m))&&(o="http://www.w3.org/1999/xhtml"),kt(c,Ae(f)?f:[f],t,n,r,o,s,i,s?s[0]:
n.__k&&Z(n,0),a,u),s&&s.some(te)),a&&m!="textarea"||(d="value",m=="progress"&&w==null?e.removeAttribute(d):w==null||w===e[d]&&(m!="progress"||w)||we(e,d,w,g[d],
o),d="checked",b!=null&&b!=e[d]&&we(e,d,b,g[d],o))}else g===v||a&&e.data==v||(e.data=v);return e}function qe(e,t,n,r){try{typeof e=="function"?t?t.__x=e(t)||1:r&&
(r=r.__c||r.__e)&&(t=r.__x)&&(r.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(o){I.__e(o,n)}}function Be(e,t,n){var r,o,s,i;if(I.unmount&&I.unmount(
e),!(r=e.ref)||r.current&&r.current!=e.__e||qe(r,null,t,e),r=e.__c){if(r.componentWillUnmount)try{r.componentWillUnmount()}catch(a){I.__e(a,t)}r.__P=r.__n=null}
if(r=e.__k)for(i=0;i<r.length;i++)r[i]&&Be(r[i],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(r=e.__c)&&(r=r.__z)&&(o=xe(r,s=[]))&&(r==e.__e&&s.some(te),te(
o),te(r)),n||te(e.__e),e.__e=e.__c=e.__=null}function ar(e,t,n){return this.constructor(e,n)}function Ct(e,t){var n,r,o,s;I.__&&I.__(e,t),t.nodeType==9&&(t=t.documentElement),
r=(n=e&&32&e.__u)?null:t.__k,t.__k=Ee($,{children:[e]}),o=[],s=[],He(t,t.__k,r||Oe,Oe,t.namespaceURI,r?null:t.firstChild?wt.call(t.childNodes):null,o,r?r.__e:t.
firstChild,n,s),Ot(o,t.__k,s),t.__k.props.children=null}I={__e:function(e,t,n,r){for(var o,s,i;t=t.__;)if((o=t.__c)&&!(1&o.__g)){o.__g|=4;try{if((i=(s=o.constructor)&&s.getDerivedStateFromError)&&o.setState(s.getDerivedStateFromError(
e)),o.componentDidCatch&&(o.componentDidCatch(e,r||{}),i=1),i&&8&o.__g)return void(o.__g|=2)}catch(a){e=a}}throw Ne=0,e}},mt=0,Zn=function(e){return e!=null&&e.
constructor===ce},ke.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=ne({},this.state)),typeof e=="function"&&(e=e(ne({},n),this.props)),
e&&(ne(n,e),this.__v&&(t&&this.__k.push(t),gt(this)))},ke.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),gt(this))},ke.prototype.render=
$,Q=[],Ne=0,vt=function(e,t){return e.__v.__b-t.__v.__b},ye=Symbol(),bt=/(PointerCapture)$|Capture$/i,Fe=0,De={},er=0;var fe,H,Ve,St,Ue=Object.is,Se=0,Dt=[],We=[],A=I,jt=A.__b,$t=A.__r,It=A.diffed,Tt=A.__c,Pt=A.unmount,Mt=A.__;function ze(e,t){A.__h&&A.__h(H,e,Se||t),Se=0;var n=H.
__H||(H.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function U(e){return Se=1,lr(At,e)}function lr(e,t,n){var r=ze(fe++,2);if(r.t=e,!r.__c&&
(r.__=[n?n(t):At(void 0,t),function(s){var i=(r.__N||r.__)[0],a=r.t(i,s);Ue(i,a)||(r.__N=[a,r.__[1]],r.__c.setState({}))}],r.__c=H,!H.__f)){H.__f=!0;var o=H.shouldComponentUpdate;
H.shouldComponentUpdate=function(s,i,a){var u=this.__H;if(!u)return!0;var c=!1,d=this.props!=s;if(u.__.some(function(p){p.__N&&(c=!0,Ue(p.__[0],p.__N[0])||(d=!0))}),
o){var h=o.call(this,s,i,a);return c?h||d:h}return!c||d}}return r.__}function J(e,t){var n=ze(fe++,3);!A.__s&&Ft(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,H.__H.__h.push(
n))}function pe(e){return Se=5,je(function(){return{current:e}},[])}function je(e,t){var n=ze(fe++,7);return Ft(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function dr(){var e;do{for(;e=We.shift();)try{he(e)}catch(n){A.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=Dt.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(he),t.__h.
some(Ye),t.__h=[]}catch(n){t.__h=[],A.__e(n,e.__v)}}}while(We.length)}A.__b=function(e){H=null,jt&&jt(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),
Mt&&Mt(e,t)},A.__r=function(e){$t&&$t(e),fe=0;var t=(H=e.__c).__H;t&&(Ve==H?H.__h=[]:(t.__h.some(he),t.__h.some(Ye),fe=0),t.__h=[],t.__.some(function(n){n.__N&&
(n.__=n.__N),n.u=n.__N=void 0})),Ve=H},A.diffed=function(e){It&&It(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Rt(Dt.push(t)),t.__H.__.some(function(n){n.u&&(n.
__H=n.u)})),Ve=H=null},A.__c=function(e,t){t.some(function(n){try{n.__h.some(he),n.__h=n.__h.filter(function(r){return!r.__||Ye(r)})}catch(r){n.__h=[function(){
throw r}]}}),Tt&&Tt(e,t)},A.unmount=function(e){Pt&&Pt(e);var t,n,r=e.__c;r&&r.__H&&(r.__H.__.some(function(o){try{if(o.__P&&o.__c){if(n===void 0){for(n=e.__;n&&
(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}o.__P=n,Rt(We.push(o))}else he(o)}catch(s){t=s}}),r.__H=void 0,t&&A.__e(t,r.__v))};var Lt=typeof requestAnimationFrame==
"function";function ur(e){var t,n=function(){clearTimeout(r),Lt&&cancelAnimationFrame(t),setTimeout(e)},r=setTimeout(n,35);Lt&&(t=requestAnimationFrame(n))}function Rt(e){
e!=1&&St==A.requestAnimationFrame||((St=A.requestAnimationFrame)||ur)(dr)}function he(e){var t=H,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),H=t}function Ye(e){
var t=H;e.__c=e.__(),H=t}function Ft(e,t){return!e||e.length!=t.length||t.some(function(n,r){return!Ue(n,e[r])})}function At(e,t){return typeof t=="function"?t(
e):t}var cr=1e3,hr=25e3,Ht=document.getElementById("snapshot"),F=Ht?JSON.parse(Ht.textContent??"null"):null,T={overview:null,services:new Map,sorted:[],log:[],connected:!1,
opened:Date.now(),version:0},Ke=new Set,Ge=!1;function Xe(){T.version++,!Ge&&(Ge=!0,requestAnimationFrame(()=>{Ge=!1;for(let e of Ke)e()}))}function B(){let[,e]=U(
0);return J(()=>{let t=()=>e(n=>n+1);return Ke.add(t),()=>{Ke.delete(t)}},[]),T}function G(e,t,n=!1){T.log.unshift({at:Date.now(),about:e,text:t,worse:n}),T.log.
length=Math.min(T.log.length,cr)}function fr(e,t,n){let r=[["exports","export"],["imports","import"]];for(let[s,i]of r){let a=t?.[s]??{},u=n?.[s]??{};for(let c of new Set(
[...Object.keys(a),...Object.keys(u)])){let d=a[c],h=u[c];h?d?d.s!==h.s?G(e,`${i} in ${c}: ${d.s} \u2192 ${h.s}`,h.p==="error"):((d.r??0)!==(h.r??0)||(d.b??0)!==
(h.b??0))&&G(e,`${c}: ${qt(d)} \u2192 ${qt(h)}`,(h.r??0)===0):G(e,`new ${i} in ${c}: ${h.s}`,h.p==="error"):G(e,`${i} in ${c} is gone`,!0)}}let o=[t?.conflicts?.
length??0,n?.conflicts?.length??0];o[0]!==o[1]&&G(e,`${o[0]} \u2192 ${o[1]} conflicts`,o[1]>o[0])}function qt(e){return`${e.r??0} of ${e.n??0} endpoints ready`+
(e.b?`, ${e.b} on standby`:"")}function pr(e,t){let n=new Map(e.clusters.map(r=>[r.id,r]));for(let r of t.clusters){let o=n.get(r.id);n.delete(r.id),o?(!o.error!=
!r.error&&G(r.id,r.error?`does not answer: ${r.error}`:"answers again",!!r.error),o.member?.state!==r.member?.state&&G(r.id,`${o.member?.state??"\u2013"} \u2192 ${r.
member?.state??"\u2013"}`,r.member?.state!=="Ready"),(o.member?.drained??"")!==(r.member?.drained??"")&&G(r.id,r.member?.drained?`drained: ${r.member.drained}`:
"no longer drained")):G(r.id,"new cluster")}for(let r of n.keys())G(r,"cluster is gone",!0)}function Bt(e){let t=!T.overview;e.overview&&(T.overview&&!e.all&&pr(
T.overview,e.overview),T.overview=e.overview);let n=!1;if(e.all){n=!0;for(let r of T.services.keys())e.services?.[r]||T.services.delete(r)}for(let[r,o]of Object.
entries(e.services??{})){let s=T.services.get(r);!t&&Date.now()-T.opened>3e3&&fr(r,s,o),o?(n||=!s,T.services.set(r,o)):n=T.services.delete(r)||n}n?T.sorted=[...T.
services.values()].sort((r,o)=>r.id<o.id?-1:1):e.services&&(T.sorted=T.sorted.map(r=>T.services.get(r.id)??r)),Xe()}function Vt(){if(F){T.connected=!0,Bt(F);return}
let e=new EventSource("/api/live"),t=Date.now(),n=r=>{T.connected!==r&&(T.connected=r,Xe())};e.onmessage=r=>{t=Date.now(),n(!0),Bt(JSON.parse(r.data))},e.onerror=
()=>n(!1),setInterval(()=>{Date.now()-t>hr&&e.readyState!==EventSource.OPEN&&n(!1),Xe()},5e3)}async function re(e,t,n){let r=await fetch(`/api/${e}?${new URLSearchParams(
t)}`,{signal:n});if(!r.ok)throw new Error((await r.text()).trim());return r.json()}function oe(e,t){let[n,r]=U({loading:!0});return J(()=>{let o=new AbortController;
return r(s=>({...s,loading:!0})),t(o.signal).then(s=>r({value:s,loading:!1,of:e}),s=>o.signal.aborted||r({error:String(s.message??s),loading:!1,of:e})),()=>o.abort()},
[e]),n}function q(e){return e.state==="unread"?e.context?"not read":"not read: no context is its own":e.state==="reading"?"reading":e.error?`does not answer, la\
st ${ge(e.answered)}`:""}function ge(e){return e?Je(((F?.overview?.at??Date.now())-e)/1e3)+" ago":"never"}function Je(e){let t=Math.max(0,Math.round(e));return t<
120?`${t} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}var gr=Symbol.for("pv"),_r=0;function l(e,t,n,r,o,s){t||(t={});var i,a,u=t;if("ref"in u&&typeof e!="function")for(a in u={},t)a=="ref"?i=t[a]:u[a]=t[a];var c={type:e,props:u,key:n,ref:i,__k:null,
__:null,__b:0,__e:null,__c:null,constructor:gr,__v:--_r,__i:-1,__u:0};return(o||s)&&(c.__source=o,c.__self=s),I.vnode&&I.vnode(c),c}function Qe(){let[e="",t=""]=location.hash.replace(/^#\/?/,"").split("?"),[n="",...r]=e.split("/").map(decodeURIComponent);return{page:n||"clusters",rest:r,query:new URLSearchParams(
t)}}function W(){let[e,t]=U(Qe);return J(()=>{let n=()=>t(Qe());return addEventListener("hashchange",n),()=>removeEventListener("hashchange",n)},[]),e}function Y(e){
let{query:t}=Qe();for(let[r,o]of Object.entries(e))o?t.set(r,o):t.delete(r);let n=t.toString();history.replaceState(null,"",location.hash.split("?")[0]+(n?`?${n}`:
"")),dispatchEvent(new HashChangeEvent("hashchange"))}function le(e,t){return`#/service/${e}${t?`?cluster=${encodeURIComponent(t)}`:""}`}var mr={error:"\xD7",warning:"\
\u203C",pending:"\u2026",ok:"\u221A",skipped:"\u2013"};function _e({of:e}){return l("span",{class:`mark ${e}`,role:"img","aria-label":e,children:mr[e]})}function $e({
all:e}){return e?.length?l("ul",{class:"findings",children:e.map(t=>l("li",{children:[l(_e,{of:t.severity})," ",l("strong",{children:t.about}),": ",t.message,t.
do&&l(ee,{text:t.do})]}))}):l("p",{class:"good",children:"No problems."})}function ee({text:e}){let[t,n]=U(!1);return l("span",{class:"copy",children:[l("code",
{children:e}),l("button",{type:"button",onClick:async()=>{try{await navigator.clipboard.writeText(e),n(!0),setTimeout(()=>n(!1),1500)}catch{n(!1)}},"aria-label":`\
Copy: ${e}`,children:t?"copied":"copy"})]})}function M({children:e}){return l("p",{class:"notice",role:"status",children:e})}function Ze({what:e}){return F?l(M,
{children:[e," are not in a snapshot."]}):null}function K({label:e,value:t,of:n,onChange:r}){return l("label",{children:[e," ",l("select",{value:t,onChange:o=>r(
o.currentTarget.value),children:n.map(([o,s])=>l("option",{value:o,selected:o===t,children:s}))})]})}function V({children:e}){let t=pe(null);return J(()=>{document.
title=`${t.current?.textContent} \u2013 Atoll`,(document.activeElement===document.body||document.activeElement?.closest("nav"))&&t.current?.focus({preventScroll:!0})},
[String(e)]),l("h1",{tabIndex:-1,ref:t,children:e})}function Ut(){let{overview:e}=B(),{query:t}=W();if(!e)return l(M,{children:"Reading the clusters."});let n=e.clusters.find(r=>r.id===t.get("cluster"));return l(
$,{children:[l(V,{children:"Clusters"}),l(vr,{}),l("ul",{class:"cards",children:e.clusters.map(r=>l("li",{class:`card ${q(r)?"stale":""} ${br(r)}`,children:l(wr,
{c:r})}))}),n&&l(yr,{cluster:n}),l("h2",{children:"Who reaches whom"}),l(kr,{clusters:e.clusters})]})}function vr(){let{broker:e}=T.overview;return e.read&&!e.error?
l("p",{children:["Broker: ",e.server]}):l(M,{children:["The broker ",e.read?`does not answer, last ${ge(e.answered)}`:"cannot be read",": ",e.error||"connecting",
". Without it, conflicts, heartbeats and the exports of clusters that are not read are unknown or old."]})}function br(e){return e.member?.state==="Lost"||e.member?.
state==="Silent"?"bad":e.member?.drained||e.unread?.length?"warn":""}function wr({c:e}){let t=e.member,n=[...T.services.values()].filter(o=>o.exports?.[e.id]?.p===
"error"||o.imports?.[e.id]?.p==="error").length,r=[["State",t?t.state:"not on the broker"],["Heartbeat",t?.heartbeatSeconds===void 0?void 0:`${Je(t.heartbeatSeconds)}\
 ago`],["Kubernetes",t?.kubernetes],["Agent",t?.agent],["Reached by",t&&{"":"pod addresses",Pods:"pod addresses",ClusterIP:"one address for each Service"}[t.advertises]?
t.advertises||"Pods":t?.advertises],["Region",t?.region],["Drained",t?.drained],["Exports",t&&String(t.exports)],["May export",t&&!t.namespaces.includes("*")?t.
namespaces.join(", ")||"nothing":void 0],["Ranges",t?.allowedRanges?.join(", ")],["Over budget of",t?.overBudgetOf?.join(", ")]];return l($,{children:[l("h2",{children:[
l("a",{href:`#/clusters?cluster=${encodeURIComponent(e.id)}`,children:e.id}),q(e)&&l("span",{class:"tag",children:q(e)}),t?.drained&&l("span",{class:"tag",children:"\
drained"})]}),l("dl",{children:r.map(([o,s])=>s&&l($,{children:[l("dt",{children:o}),l("dd",{children:s})]}))}),n>0&&l("p",{children:l("a",{href:`#/services?sta\
te=problem&cluster=${encodeURIComponent(e.id)}`,children:[n," services with errors"]})}),e.error&&e.context&&l("p",{class:"small",children:e.error}),e.unread?.map(
o=>l("p",{class:"small",children:o}))]})}function yr({cluster:e}){let t=oe(e.id,async r=>{if(!F)return re("status",{cluster:e.id},r);let o=F.status[e.id];if(!o)
throw new Error(F.errors[e.id]??"not in the snapshot");return o}),n=t.value;return l("section",{"aria-labelledby":"status",children:[l("h2",{id:"status",children:[
"Status of ",e.id]}),t.loading&&l(M,{children:["Reading ",e.id,"."]}),t.error&&l(M,{children:t.error}),n&&l($,{children:[l("p",{children:[n.components.map(r=>`${r.
name}: ${r.ready} of ${r.wanted} ready`).join("; ")||"No component of Atoll.",n.dns?.length?`; DNS: ${n.dns.join(", ")}`:""]}),l($e,{all:n.findings})]}),e.on!==
void 0&&e.context&&l(ee,{text:`atoll status${e.on}`})]})}var et={yes:["\u25CF","reached, as far as is known"],silent:["\u25D0","its endpoints do not answer; the\
y are on standby"],withdrawn:["\xD7","unreachable: its endpoints are withdrawn"],unproven:["\u25CB","none of its endpoints has ever answered"],unknown:["","not \
read"],self:["\xB7",""]};function Er(e,t){return e.id===t.id?"self":e.state!=="read"?"unknown":e.withdrawn?.[t.id]?"withdrawn":e.silent?.[t.id]?"silent":e.unproven?.[t.
id]?"unproven":"yes"}function kr({clusters:e}){return l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Who reaches whom",children:[l("table",{class:"\
reach",children:[l("thead",{children:l("tr",{children:[l("th",{scope:"col",children:"from \\ to"}),e.map(t=>l("th",{scope:"col",children:t.id}))]})}),l("tbody",
{children:e.map(t=>l("tr",{class:q(t)?"stale":"",children:[l("th",{scope:"row",children:t.id}),e.map(n=>{let r=Er(t,n),[o,s]=et[r];return l("td",{class:r,title:s&&
`${t.id} \u2192 ${n.id}: ${s}`,children:[l("span",{"aria-hidden":"true",children:o}),l("span",{class:"hidden",children:s})]})})]}))})]}),l("p",{class:"small",children:[
"yes","silent","withdrawn","unproven"].map(t=>l("span",{class:"legend",children:[et[t][0]," ",et[t][1]]}))})]})}function Yt(){let{overview:e,sorted:t}=B(),{query:n}=W(),r=n.get("q")??"";if(!e)return l(M,{children:"Reading the clusters."});let o=t.filter(s=>s.id.includes(r)).
flatMap(s=>(s.conflicts??[]).map(i=>({id:s.id,...i})));return l($,{children:[l(V,{children:"Conflicts"}),l("p",{children:"Exports of one service that differ. Th\
e oldest export decides (KEP-1645)."}),!e.broker.read&&l(M,{children:"The broker cannot be read, so conflicts are unknown."}),l("form",{class:"filter",role:"sea\
rch",onSubmit:s=>s.preventDefault(),children:[l("label",{children:["Filter ",l("input",{type:"search",value:r,onInput:s=>Y({q:s.currentTarget.value})})]}),l("ou\
tput",{"aria-live":"polite",children:o.length})]}),e.broker.read&&o.length===0&&l("p",{class:"good",children:"No conflicts."}),o.length>0&&l("div",{class:"scrol\
l",tabIndex:0,role:"region","aria-label":"Conflicts",children:[l("table",{children:[l("thead",{children:l("tr",{children:[l("th",{scope:"col",children:"Service"}),
l("th",{scope:"col",children:"Property"}),l("th",{scope:"col",children:"In use"}),l("th",{scope:"col",children:"From"}),l("th",{scope:"col",children:"Others wan\
t"})]})}),l("tbody",{children:o.slice(0,500).map(s=>l("tr",{children:[l("th",{scope:"row",children:l("a",{href:le(s.id),children:s.id})}),l("td",{children:s.property}),
l("td",{children:s.using}),l("td",{children:s.from}),l("td",{children:Object.entries(s.others??{}).map(([i,a])=>`${i}: ${a}`).join(", ")})]}))})]}),o.length>500&&
l("p",{class:"small",children:"The first 500."})]})]})}var Wt=["error","warning","skipped","ok"];function zt(){let{overview:e}=B(),[t,n]=U("");if(!e)return l(M,
{children:"Reading the clusters."});let{checks:r}=e,o=async()=>{let a=await fetch("/api/checks",{method:"POST"});n(a.ok?"":await a.text())},s=[...r.results??[]].
sort((a,u)=>Wt.indexOf(a.status)-Wt.indexOf(u.status)),i=a=>s.filter(u=>u.status===a).length;return l($,{children:[l(V,{children:"Checks"}),l(Ze,{what:"Runs of \
checks"}),l("p",{children:["The checks that need no test pods: a console creates nothing. ",r.command&&l($,{children:"All checks: "})]}),r.command&&l(ee,{text:r.
command}),!F&&l("p",{children:[l("button",{type:"button",onClick:o,disabled:r.running,children:r.running?"Running":"Run the checks"})," ",r.running&&l("progress",
{max:r.of,value:r.read,"aria-label":"Clusters read"})]}),(t||r.error)&&l(M,{children:t||r.error}),s.length>0&&l("p",{role:"status",children:[i("error")," errors\
, ",i("warning")," warnings, ",i("skipped")," skipped, ",i("ok")," passed",r.ended?`, ${ge(r.ended)}`:""]}),l("ul",{class:"findings",children:s.map(a=>l("li",{children:[
l(_e,{of:a.status})," ",l("strong",{children:[a.cluster,a.from&&`${a.from} \u2192 ${a.to}`].filter(Boolean).join(" ")})," ",a.id," ",a.title,a.message&&a.status!==
"ok"?`: ${a.message}`:"",a.hint&&l(ee,{text:a.hint})]}))})]})}function Gt(){let{log:e,overview:t}=B(),{query:n}=W();if(!t)return l(M,{children:"Reading the clus\
ters."});let r=t.clusters.filter(s=>s.context!==void 0&&s.state!=="unread"),o=n.get("cluster")||r[0]?.id||"";return l($,{children:[l(V,{children:"Events"}),!F&&
l($,{children:[l("h2",{children:"Changed since the page was opened"}),e.length===0&&l("p",{children:"Nothing yet."}),l("ol",{class:"log","aria-live":"polite",children:e.
slice(0,300).map(s=>l("li",{class:s.worse?"worse":"",children:[l("time",{children:new Date(s.at).toLocaleTimeString()})," ",s.about.includes("/")?l("a",{href:le(
s.about),children:s.about}):l("strong",{children:s.about})," ",s.text]}))})]}),l("h2",{children:l(K,{label:"Events of",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y(
{cluster:s})})}),l(xr,{cluster:o})]})}function xr({cluster:e}){let t=oe(e,async n=>F?F.events[e]??[]:re("events",{cluster:e},n));return l("section",{"aria-busy":t.
loading,children:[t.error&&l(M,{children:t.error}),t.value?.length===0&&l("p",{children:"Atoll has no Events there."}),l("ol",{class:"log",children:(t.value??[]).
slice(0,300).map(n=>l("li",{class:n.type==="Warning"?"worse":"",children:[l("time",{dateTime:n.at,children:new Date(n.at).toLocaleString()})," ",l("strong",{children:n.
about})," ",n.reason,": ",n.message]}))})]})}function Kt(){let{overview:e}=B(),{query:t}=W();if(!e)return l(M,{children:"Reading the clusters."});let n=t.get("w\
ithout")??"",r=e.clusters.filter(s=>s.context!==void 0&&s.state!=="unread"),o=t.get("cluster")||r.find(s=>s.id!==n)?.id||"";return l($,{children:[l(V,{children:"\
What if"}),l("p",{children:"Who would serve each service without a cluster, as of now."}),l(Ze,{what:"Predictions"}),!F&&l($,{children:[l("form",{class:"filter",
onSubmit:s=>s.preventDefault(),children:[l(K,{label:"Without",value:n,of:[["","choose a cluster"],...e.clusters.map(s=>[s.id,s.id])],onChange:s=>Y({without:s})}),
l(K,{label:"As seen from",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y({cluster:s})})]}),n&&l(Nr,{without:n,cluster:o})]})]})}function Nr({without:e,cluster:t}){
let n=oe(`${e} ${t}`,s=>re("without",{without:e,cluster:t},s));if(n.loading)return l(M,{children:["Reading ",t,"."]});if(n.error)return l(M,{children:n.error});
let r=(n.value??[]).flatMap(s=>(s.ports??[]).map(i=>({id:Or(s.name),port:i}))).sort((s,i)=>Number(s.port.served)-Number(i.port.served)||(s.id<i.id?-1:1)),o=r.filter(
s=>!s.port.served).length;return l($,{children:[l("p",{role:"status",class:o?"bad":"good",children:["Without ",e,", ",o?`${o} of ${r.length} ports would not be \
served`:`all ${r.length} ports would be served`," in ",t,"."]}),l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Predictions",children:[l("table",
{children:[l("thead",{children:l("tr",{children:[l("th",{scope:"col",children:"Service"}),l("th",{scope:"col",children:"Port"}),l("th",{scope:"col",children:"Se\
rved"}),l("th",{scope:"col",children:"By"})]})}),l("tbody",{children:r.slice(0,1e3).map(s=>l("tr",{class:s.port.served?"":"error",children:[l("th",{scope:"row",
children:l("a",{href:le(s.id),children:s.id})}),l("td",{children:[s.port.port," ",s.port.family]}),l("td",{children:s.port.served?"yes":"no"}),l("td",{children:(s.
port.clusters??[]).map(i=>`${i.cluster}: ${i.role} (${i.reason})${i.active?` ${i.sharePercent}%`:""}`).join(", ")})]}))})]}),r.length>1e3&&l("p",{class:"small",
children:"The first 1000."})]})]})}function Or(e){let[t,n]=e.split(".svc.")[0].split(/\.(?=[^.]*$)/);return`${n}/${t}`}var mn=Object.defineProperty,Cr=(e,t,n)=>t in e?mn(e,t,{enumerable:!0,configurable:!0,writable:!0,value:n}):e[t]=n,Sr=(e,t)=>{for(var n in t)mn(e,n,{get:t[n],enumerable:!0})},
jr=(e,t,n)=>Cr(e,typeof t!="symbol"?t+"":t,n),vn={};Sr(vn,{Graph:()=>z,alg:()=>dt});var $r=Object.defineProperty,bn=(e,t)=>{for(var n in t)$r(e,n,{get:t[n],enumerable:!0})},
lt=class{constructor(e){this._isDirected=!0,this._isMultigraph=!1,this._isCompound=!1,this._nodes={},this._in={},this._preds={},this._out={},this._sucs={},this.
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
s=e.w,i=e.name,arguments.length===2&&(a=t,u=!0)):(o=e,s=t,i=r,arguments.length>2&&(a=n,u=!0)),o=""+o,s=""+s,i!==void 0&&(i=""+i);let c=me(this._isDirected,o,s,i);
if(c in this._edgeLabels)return u&&(this._edgeLabels[c]=a),this;if(i!==void 0&&!this._isMultigraph)throw new Error("Cannot set a named edge when isMultigraph = \
false");this.setNode(o),this.setNode(s),this._edgeLabels[c]=u?a:this._defaultEdgeLabelFn(o,s,i);let d=Ir(this._isDirected,o,s,i);return o=d.v,s=d.w,Object.freeze(
d),this._edgeObjs[c]=d,Xt(this._preds[s],o),Xt(this._sucs[o],s),this._in[s][c]=d,this._out[o][c]=d,this._edgeCount++,this}edge(e,t,n){let r=arguments.length===1?
tt(this._isDirected,e):me(this._isDirected,e,t,n);return this._edgeLabels[r]}edgeAsObj(e,t,n){let r=arguments.length===1?this.edge(e):this.edge(e,t,n);return typeof r!=
"object"||r===null?{label:r}:r}hasEdge(e,t,n){return(arguments.length===1?tt(this._isDirected,e):me(this._isDirected,e,t,n))in this._edgeLabels}removeEdge(e,t,n){
let r=arguments.length===1?tt(this._isDirected,e):me(this._isDirected,e,t,n),o=this._edgeObjs[r];if(o){let s=o.v,i=o.w;delete this._edgeLabels[r],delete this._edgeObjs[r],
Jt(this._preds[i],s),Jt(this._sucs[s],i),delete this._in[i][r],delete this._out[s][r],this._edgeCount--}return this}inEdges(e,t){return this.isDirected()?this.filterEdges(
this._in[e],e,t):this.nodeEdges(e,t)}outEdges(e,t){return this.isDirected()?this.filterEdges(this._out[e],e,t):this.nodeEdges(e,t)}nodeEdges(e,t){if(e in this._nodes)
return this.filterEdges({...this._in[e],...this._out[e]},e,t)}_removeFromParentsChildList(e){delete this._children[this._parent[e]][e]}filterEdges(e,t,n){if(!e)
return;let r=Object.values(e);return n?r.filter(o=>o.v===t&&o.w===n||o.v===n&&o.w===t):r}};function Xt(e,t){e[t]?e[t]++:e[t]=1}function Jt(e,t){e[t]!==void 0&&!--e[t]&&
delete e[t]}function me(e,t,n,r){let o=""+t,s=""+n;if(!e&&o>s){let i=o;o=s,s=i}return o+""+s+""+(r===void 0?"\0":r)}function Ir(e,t,n,r){let o=""+t,s=""+n;if(!e&&
o>s){let a=o;o=s,s=a}let i={v:o,w:s};return r&&(i.name=r),i}function tt(e,t){return me(e,t.v,t.w,t.name)}var Tr={};bn(Tr,{read:()=>Rr,write:()=>Pr});function Pr(e){
let t={options:{directed:e.isDirected(),multigraph:e.isMultigraph(),compound:e.isCompound()},nodes:Mr(e),edges:Lr(e)},n=e.graph();return n!==void 0&&(t.value=structuredClone(
n)),t}function Mr(e){return e.nodes().map(t=>{let n=e.node(t),r=e.parent(t),o={v:t};return n!==void 0&&(o.value=n),r!==void 0&&(o.parent=r),o})}function Lr(e){return e.
edges().map(t=>{let n=e.edge(t),r={v:t.v,w:t.w};return t.name!==void 0&&(r.name=t.name),n!==void 0&&(r.value=n),r})}function Rr(e){let t=new lt(e.options);return e.
value!==void 0&&t.setGraph(e.value),e.nodes.forEach(n=>{t.setNode(n.v,n.value),n.parent&&t.setParent(n.v,n.parent)}),e.edges.forEach(n=>{t.setEdge({v:n.v,w:n.w,
name:n.name},n.value)}),t}var dt={};bn(dt,{CycleException:()=>Te,bellmanFord:()=>wn,components:()=>Ar,dijkstra:()=>Ie,dijkstraAll:()=>Br,findCycles:()=>Vr,floydWarshall:()=>Wr,
isAcyclic:()=>zr,postorder:()=>Kr,preorder:()=>Xr,prim:()=>Jr,shortestPaths:()=>Qr,tarjan:()=>En,topsort:()=>kn});var Dr=()=>1;function wn(e,t,n,r){return Fr(e,
String(t),n||Dr,r||function(o){var s;return(s=e.outEdges(o))!=null?s:[]})}function Fr(e,t,n,r){let o={},s,i=0,a=e.nodes(),u=function(h){let p=o[h.v],f=o[h.w];if(!p||
!f)return;let _=n(h);p.distance+_<f.distance&&(o[h.w]={distance:p.distance+_,predecessor:h.v},s=!0)},c=function(){a.forEach(function(h){r(h).forEach(function(p){
let f=p.v===h?p.v:p.w,_=f===p.v?p.w:p.v;u({v:f,w:_})})})};a.forEach(function(h){let p=h===t?0:Number.POSITIVE_INFINITY;o[h]={distance:p,predecessor:""}});let d=a.
length;for(let h=1;h<d&&(s=!1,i++,c(),!!s);h++);if(i===d-1&&(s=!1,c(),s))throw new Error("The graph contains a negative weight cycle");return o}function Ar(e){let t={},
n=[],r;function o(s){var i,a;s in t||(t[s]=!0,r.push(s),(i=e.successors(s))==null||i.forEach(o),(a=e.predecessors(s))==null||a.forEach(o))}return e.nodes().forEach(
function(s){r=[],o(s),r.length&&n.push(r)}),n}var yn=class{constructor(){this._arr=[],this._keyIndices={}}size(){return this._arr.length}keys(){return this._arr.
map(e=>e.key)}has(e){return e in this._keyIndices}priority(e){let t=this._keyIndices[e];if(t!==void 0)return this._arr[t].priority}min(){if(this.size()===0)throw new Error(
"Queue underflow");return this._arr[0].key}add(e,t){let n=this._keyIndices,r=String(e);if(!(r in n)){let o=this._arr,s=o.length;return n[r]=s,o.push({key:r,priority:t}),
this._decrease(s),!0}return!1}removeMin(){if(this.size()===0)throw new Error("Queue underflow");this._swap(0,this._arr.length-1);let e=this._arr.pop();return delete this.
_keyIndices[e.key],this._heapify(0),e.key}decrease(e,t){let n=this._keyIndices[e];if(n===void 0)throw new Error(`Key not found: ${e}`);let r=this._arr[n].priority;
if(t>r)throw new Error(`New priority is greater than current priority. Key: ${e} Old: ${r} New: ${t}`);this._arr[n].priority=t,this._decrease(n)}_heapify(e){let t=this.
_arr,n=2*e,r=n+1,o=e;n<t.length&&(o=t[n].priority<t[o].priority?n:o,r<t.length&&(o=t[r].priority<t[o].priority?r:o),o!==e&&(this._swap(e,o),this._heapify(o)))}_decrease(e){
let t=this._arr,n=t[e].priority,r;for(;e!==0&&(r=e>>1,!(t[r].priority<n));)this._swap(e,r),e=r}_swap(e,t){let n=this._arr,r=this._keyIndices,o=n[e],s=n[t];n[e]=
s,n[t]=o,r[s.key]=e,r[o.key]=t}},Hr=()=>1;function Ie(e,t,n,r){let o=function(s){var i;return(i=e.outEdges(s))!=null?i:[]};return qr(e,String(t),n||Hr,r||o)}function qr(e,t,n,r){
let o={},s=new yn,i,a,u=function(c){let d=c.v!==i?c.v:c.w,h=o[d];if(!h)return;let p=n(c),f=a.distance+p;if(p<0)throw new Error("dijkstra does not allow negative\
 edge weights. Bad edge: "+c+" Weight: "+p);f<h.distance&&(h.distance=f,h.predecessor=i,s.decrease(d,f))};for(e.nodes().forEach(function(c){let d=c===t?0:Number.
POSITIVE_INFINITY;o[c]={distance:d,predecessor:""},s.add(c,d)});s.size()>0;){i=s.removeMin();let c=o[i];if(!c||c.distance===Number.POSITIVE_INFINITY)break;a=c,r(
i).forEach(u)}return o}function Br(e,t,n){return e.nodes().reduce(function(r,o){return r[o]=Ie(e,o,t,n),r},{})}function En(e){let t=0,n=[],r={},o=[];function s(i){
var a;let u=r[i]={onStack:!0,lowlink:t,index:t++};if(n.push(i),(a=e.successors(i))==null||a.forEach(function(c){if(c in r){let d=r[c];d!=null&&d.onStack&&(u.lowlink=
Math.min(u.lowlink,d.index))}else{s(c);let d=r[c];d&&(u.lowlink=Math.min(u.lowlink,d.lowlink))}}),u.lowlink===u.index){let c=[],d;do{d=n.pop();let h=r[d];h&&(h.
onStack=!1),c.push(d)}while(i!==d);o.push(c)}}return e.nodes().forEach(function(i){i in r||s(i)}),o}function Vr(e){return En(e).filter(function(t){var n;let r=t[0];
return r?t.length>1||t.length===1&&((n=e.outEdges(r,r))!=null?n:[]).length>0:!1})}var Ur=()=>1;function Wr(e,t,n){return Yr(e,t||Ur,n||function(r){var o;return(o=
e.outEdges(r))!=null?o:[]})}function Yr(e,t,n){let r={},o=e.nodes();return o.forEach(function(s){let i={};r[s]=i,i[s]={distance:0,predecessor:""},o.forEach(function(a){
s!==a&&(i[a]={distance:Number.POSITIVE_INFINITY,predecessor:""})}),n(s).forEach(function(a){let u=a.v===s?a.w:a.v,c=t(a);i[u]={distance:c,predecessor:s}})}),o.forEach(
function(s){let i=r[s];i&&o.forEach(function(a){let u=r[a];u&&o.forEach(function(c){let d=u[s],h=i[c],p=u[c];if(d&&h&&p){let f=d.distance+h.distance;f<p.distance&&
(p.distance=f,p.predecessor=h.predecessor)}})})}),r}var Te=class extends Error{constructor(e){super(e),this.name="CycleException"}};function kn(e){let t={},n={},
r=[];function o(s){var i;if(s in n)throw new Te;s in t||(n[s]=!0,t[s]=!0,(i=e.predecessors(s))==null||i.forEach(o),delete n[s],r.push(s))}if(e.sinks().forEach(o),
Object.keys(t).length!==e.nodeCount())throw new Te;return r}function zr(e){try{kn(e)}catch(t){if(t instanceof Te)return!1;throw t}return!0}function Gr(e,t,n,r,o){
Array.isArray(t)||(t=[t]);let s=(a=>{var u;return(u=e.isDirected()?e.successors(a):e.neighbors(a))!=null?u:[]}),i={};return t.forEach(function(a){if(!e.hasNode(
a))throw new Error("Graph does not have node: "+a);o=xn(e,a,n==="post",i,s,r,o)}),o}function xn(e,t,n,r,o,s,i){return t in r||(r[t]=!0,n||(i=s(i,t)),o(t).forEach(
function(a){i=xn(e,a,n,r,o,s,i)}),n&&(i=s(i,t))),i}function Nn(e,t,n){return Gr(e,t,n,function(r,o){return r.push(o),r},[])}function Kr(e,t){return Nn(e,t,"post")}
function Xr(e,t){return Nn(e,t,"pre")}function Jr(e,t){var n;let r=new lt,o={},s=new yn,i;function a(d){let h=d.v===i?d.w:d.v,p=s.priority(h);if(p!==void 0){let f=t(
d);f<p&&(o[h]=i,s.decrease(h,f))}}if(e.nodeCount()===0)return r;e.nodes().forEach(function(d){s.add(d,Number.POSITIVE_INFINITY),r.setNode(d)});let u=e.nodes()[0];
u!==void 0&&s.decrease(u,0);let c=!1;for(;s.size()>0;){if(i=s.removeMin(),i in o)r.setEdge(i,o[i]);else{if(c)throw new Error("Input graph is not connected: "+e);
c=!0}(n=e.nodeEdges(i))==null||n.forEach(a)}return r}function Qr(e,t,n,r){return Zr(e,t,n,r??(o=>{var s;return(s=e.outEdges(o))!=null?s:[]}))}function Zr(e,t,n,r){
if(n===void 0)return Ie(e,t,n,r);let o=!1,s=e.nodes();for(let i=0;i<s.length;i++){let a=s[i];if(a===void 0)continue;let u=r(a);for(let c=0;c<u.length;c++){let d=u[c];
if(!d)continue;let h=d.v===a?d.v:d.w,p=h===d.v?d.w:d.v;n({v:h,w:p})<0&&(o=!0)}if(o)return wn(e,t,n,r)}return Ie(e,t,n,r)}var z=lt;function ue(e,t,n,r){let o=r;for(;e.
hasNode(o);)o=ut(r);return n.dummy=t,e.setNode(o,n),o}function eo(e){let t=new z().setGraph(e.graph());return e.nodes().forEach(n=>t.setNode(n,e.node(n))),e.edges().
forEach(n=>{let r=t.edge(n.v,n.w)||{weight:0,minlen:1},o=e.edge(n);t.setEdge(n.v,n.w,{weight:r.weight+o.weight,minlen:Math.max(r.minlen,o.minlen)})}),t}function On(e){
let t=new z({multigraph:e.isMultigraph()}).setGraph(e.graph());return e.nodes().forEach(n=>{e.children(n).length||t.setNode(n,e.node(n))}),e.edges().forEach(n=>{
t.setEdge(n,e.edge(n))}),t}function Qt(e,t){let n=e.x,r=e.y,o=t.x-n,s=t.y-r,i=e.width/2,a=e.height/2;if(!o&&!s)throw new Error("Not possible to find intersectio\
n inside of the rectangle");let u,c;return o===0||Math.abs(s)*i>Math.abs(o)*a?(s<0&&(a=-a),u=a*o/s,c=a):(o<0&&(i=-i),u=i,c=i*s/o),{x:n+u,y:r+c}}function be(e){let t=ve(
Sn(e)+1).map(()=>[]);return e.nodes().forEach(n=>{let r=e.node(n),o=r.rank;o!==void 0&&(t[o]||(t[o]=[]),t[o][r.order]=n)}),t}function to(e){let t=e.nodes().map(
r=>{let o=e.node(r).rank;return o===void 0?Number.MAX_VALUE:o}),n=X(Math.min,t);e.nodes().forEach(r=>{let o=e.node(r);Object.hasOwn(o,"rank")&&(o.rank-=n)})}function no(e){
let t=e.nodes().map(i=>e.node(i).rank).filter(i=>i!==void 0),n=X(Math.min,t),r=[];e.nodes().forEach(i=>{let a=e.node(i).rank-n;r[a]||(r[a]=[]),r[a].push(i)});let o=0,
s=e.graph().nodeRankFactor;Array.from(r).forEach((i,a)=>{i===void 0&&a%s!==0?--o:i!==void 0&&o&&i.forEach(u=>e.node(u).rank+=o)})}function Zt(e,t,n,r){let o={width:0,
height:0};return arguments.length>=4&&(o.rank=n,o.order=r),ue(e,"border",o,t)}function ro(e,t=Cn){let n=[];for(let r=0;r<e.length;r+=t){let o=e.slice(r,r+t);n.push(
o)}return n}var Cn=65535;function X(e,t){if(t.length>Cn){let n=ro(t);return e(...n.map(r=>e(...r)))}else return e(...t)}function Sn(e){let t=e.nodes().map(n=>{let r=e.
node(n).rank;return r===void 0?Number.MIN_VALUE:r});return X(Math.max,t)}function oo(e,t){let n={lhs:[],rhs:[]};return e.forEach(r=>{t(r)?n.lhs.push(r):n.rhs.push(
r)}),n}function so(e,t){let n=Date.now();try{return t()}finally{console.log(e+" time: "+(Date.now()-n)+"ms")}}function jn(e,t){return t()}var io=0;function ut(e){
let t=++io;return e+(""+t)}function ve(e,t,n=1){t==null&&(t=e,e=0);let r=s=>s<t;n<0&&(r=s=>t<s);let o=[];for(let s=e;r(s);s+=n)o.push(s);return o}function Pe(e,t){
let n={};for(let r of t)e[r]!==void 0&&(n[r]=e[r]);return n}function Me(e,t){let n;return typeof t=="string"?n=r=>r[t]:n=t,Object.entries(e).reduce((r,[o,s])=>(r[o]=
n(s,o),r),{})}function ao(e,t){return e.reduce((n,r,o)=>(n[r]=t[o],n),{})}var Le="\0";function $n(e,t,n){var r,o,s,i,a,u;if(!(e&&t&&n&&t.dummy==="edge"&&n.dummy===
"edge"&&t.edgeObj&&n.edgeObj&&e[t.edgeObj.v]&&e[n.edgeObj.v]&&e[t.edgeObj.w]&&e[n.edgeObj.w]))return 0;let c=!0;t.edgeObj.w===n.edgeObj.w&&(c=!1);let d=c?(o=(r=
e[t.edgeObj.v])==null?void 0:r.rank)!=null?o:NaN+1:(i=(s=e[t.edgeObj.w])==null?void 0:s.rank)!=null?i:NaN-1,h=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===t.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===t.edgeObj.w&&w[1].rank===d}),p=Object.entries(e).find(w=>{var b,y;return((b=w[1].
edgeObj)==null?void 0:b.v)===n.edgeObj.v&&((y=w[1].edgeObj)==null?void 0:y.w)===n.edgeObj.w&&w[1].rank===d});if(!h||!p)return 0;let f=(a=h[1].order)!=null?a:NaN,
_=(u=p[1].order)!=null?u:NaN;return isNaN(f-_)?0:f-_}var lo="3.1.3",uo=class{constructor(){jr(this,"_sentinel");let e={};e._next=e._prev=e,this._sentinel=e}dequeue(){
let e=this._sentinel,t=e._prev;if(t!==e)return en(t),t}enqueue(e){let t=this._sentinel;e._prev&&e._next&&en(e),e._next=t._next,t._next._prev=e,t._next=e,e._prev=
t}toString(){let e=[],t=this._sentinel,n=t._prev;for(;n!==t;)e.push(JSON.stringify(n,co)),n=n._prev;return"["+e.join(", ")+"]"}};function en(e){e._prev._next=e.
_next,e._next._prev=e._prev,delete e._next,delete e._prev}function co(e,t){if(e!=="_next"&&e!=="_prev")return t}var ho=uo,fo=()=>1;function po(e,t){if(e.nodeCount()<=
1)return[];let n=_o(e,t||fo);return go(n.graph,n.buckets,n.zeroIdx).flatMap(r=>e.outEdges(r.v,r.w)||[])}function go(e,t,n){var r;let o=[],s=t[t.length-1],i=t[0],
a;for(;e.nodeCount();){for(;a=i.dequeue();)nt(e,t,n,a);for(;a=s.dequeue();)nt(e,t,n,a);if(e.nodeCount()){for(let u=t.length-2;u>0;--u)if(a=(r=t[u])==null?void 0:
r.dequeue(),a){o=o.concat(nt(e,t,n,a,!0)||[]);break}}}return o}function nt(e,t,n,r,o){let s=[],i=o?s:void 0;return(e.inEdges(r.v)||[]).forEach(a=>{let u=e.edge(
a),c=e.node(a.v);o&&s.push({v:a.v,w:a.w}),c.out-=u,at(t,n,c)}),(e.outEdges(r.v)||[]).forEach(a=>{let u=e.edge(a),c=a.w,d=e.node(c);d.in-=u,at(t,n,d)}),e.removeNode(
r.v),i}function _o(e,t){let n=new z,r=0,o=0;e.nodes().forEach(a=>{n.setNode(a,{v:a,in:0,out:0})}),e.edges().forEach(a=>{let u=n.edge(a.v,a.w)||0,c=t(a),d=u+c;n.
setEdge(a.v,a.w,d);let h=n.node(a.v),p=n.node(a.w);o=Math.max(o,h.out+=c),r=Math.max(r,p.in+=c)});let s=mo(o+r+3).map(()=>new ho),i=r+1;return n.nodes().forEach(
a=>{at(s,i,n.node(a))}),{graph:n,buckets:s,zeroIdx:i}}function at(e,t,n){var r,o,s;n.out?n.in?(s=e[n.out-n.in+t])==null||s.enqueue(n):(o=e[e.length-1])==null||o.
enqueue(n):(r=e[0])==null||r.enqueue(n)}function mo(e){let t=[];for(let n=0;n<e;n++)t.push(n);return t}function vo(e,t){(e.graph().acyclicer==="greedy"?po(e,n(e)):
bo(e,t??null)).forEach(r=>{let o=e.edge(r);e.removeEdge(r),o.forwardName=r.name,o.reversed=!0,e.setEdge(r.w,r.v,o,ut("rev"))});function n(r){return o=>r.edge(o).
weight}}function bo(e,t){let n=[],r={},o={};function s(u){Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,e.outEdges(u).forEach(c=>{Object.hasOwn(r,c.w)?n.push(c):s(c.w)}),
delete r[u])}function i(u){var c;Object.hasOwn(o,u)||(o[u]=!0,r[u]=!0,(c=e.outEdges(u))==null||c.forEach(d=>{var h,p;Object.hasOwn(r,d.w)||((h=t.node(u))==null?
void 0:h.rank)>((p=t.node(d.w))==null?void 0:p.rank)&&yo(e,d.w,d)?n.push(d):i(d.w)}),delete r[u])}let a=s;return t&&typeof t.node=="function"&&(a=i),e.sources().
forEach(a),e.nodes().forEach(a),n}function wo(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.reversed){e.removeEdge(t);let r=n.forwardName;delete n.reversed,delete n.
forwardName,e.setEdge(t.w,t.v,n,r)}})}function yo(e,t,n){let r=new Set;function o(s){var i;if(e.sources().includes(s))return!0;r.add(s);for(let a of(i=e.inEdges(
s))!=null?i:[])if(!(a.v===n.v&&a.w===n.w)&&!r.has(a.v)&&o(a.v))return!0;return!1}return o(t)}function Eo(e){e.graph().dummyChains=[],e.edges().forEach(t=>ko(e,t))}
function ko(e,t){let n=t.v,r=e.node(n).rank,o=t.w,s=e.node(o).rank,i=t.name,a=e.edge(t),u=a.labelRank;if(s===r+1)return;e.removeEdge(t);let c,d,h;for(h=0,++r;r<
s;++h,++r)a.points=[],d={width:0,height:0,edgeLabel:a,edgeObj:t,rank:r},c=ue(e,"edge",d,"_d"),r===u&&(d.width=a.width,d.height=a.height,d.dummy="edge-label",d.labelpos=
a.labelpos),e.setEdge(n,c,{weight:a.weight},i),h===0&&e.graph().dummyChains.push(c),n=c;e.setEdge(n,o,{weight:a.weight},i)}function xo(e){e.graph().dummyChains.
forEach(t=>{let n=e.node(t),r=n.edgeLabel,o;for(e.setEdge(n.edgeObj,r);n.dummy;)o=e.successors(t)[0],e.removeNode(t),r.points.push({x:n.x,y:n.y}),n.dummy==="edg\
e-label"&&(r.x=n.x,r.y=n.y,r.width=n.width,r.height=n.height),t=o,n=e.node(t)})}function ct(e){let t={};function n(r){let o=e.node(r);if(Object.hasOwn(t,r))return o.
rank;t[r]=!0;let s=e.outEdges(r),i=s?s.map(u=>u==null?Number.POSITIVE_INFINITY:n(u.w)-e.edge(u).minlen):[],a=X(Math.min,i);return a===Number.POSITIVE_INFINITY&&
(a=0),o.rank=a}e.sources().forEach(n)}function de(e,t){return e.node(t.w).rank-e.node(t.v).rank-e.edge(t).minlen}var In=No;function No(e){let t=new z({directed:!1}),
n=e.nodes();if(n.length===0)throw new Error("Graph must have at least one node");let r=n[0],o=e.nodeCount();t.setNode(r,{});let s,i;for(;Oo(t,e)<o&&(s=Co(t,e),!!s);)
i=t.hasNode(s.v)?de(e,s):-de(e,s),So(t,e,i);return t}function Oo(e,t){function n(r){let o=t.nodeEdges(r);o&&o.forEach(s=>{let i=s.v,a=r===i?s.w:i;!e.hasNode(a)&&
!de(t,s)&&(e.setNode(a,{}),e.setEdge(r,a,{}),n(a))})}return e.nodes().forEach(n),e.nodeCount()}function Co(e,t){return t.edges().reduce((n,r)=>{let o=Number.POSITIVE_INFINITY;
return e.hasNode(r.v)!==e.hasNode(r.w)&&(o=de(t,r)),o<n[0]?[o,r]:n},[Number.POSITIVE_INFINITY,null])[1]}function So(e,t,n){e.nodes().forEach(r=>t.node(r).rank+=
n)}var{preorder:jo,postorder:$o}=dt,Io=se;se.initLowLimValues=ft;se.initCutValues=ht;se.calcCutValue=Tn;se.leaveEdge=Mn;se.enterEdge=Ln;se.exchangeEdges=Rn;function se(e){
e=eo(e),ct(e);let t=In(e);ft(t),ht(t,e);let n,r;for(;n=Mn(t);)r=Ln(t,e,n),Rn(t,e,n,r)}function ht(e,t){let n=$o(e,e.nodes());n=n.slice(0,n.length-1),n.forEach(r=>To(
e,t,r))}function To(e,t,n){let r=e.node(n).parent,o=e.edge(n,r);o.cutvalue=Tn(e,t,n)}function Tn(e,t,n){let r=e.node(n).parent,o=!0,s=t.edge(n,r),i=0;s||(o=!1,s=
t.edge(r,n)),i=s.weight;let a=t.nodeEdges(n);return a&&a.forEach(u=>{let c=u.v===n,d=c?u.w:u.v;if(d!==r){let h=c===o,p=t.edge(u).weight;if(i+=h?p:-p,Mo(e,n,d)){
let f=e.edge(n,d).cutvalue;i+=h?-f:f}}}),i}function ft(e,t){arguments.length<2&&(t=e.nodes()[0]),Pn(e,{},1,t)}function Pn(e,t,n,r,o){let s=n,i=e.node(r);t[r]=!0;
let a=e.neighbors(r);return a&&a.forEach(u=>{Object.hasOwn(t,u)||(n=Pn(e,t,n,u,r))}),i.low=s,i.lim=n++,o?i.parent=o:delete i.parent,n}function Mn(e){return e.edges().
find(t=>e.edge(t).cutvalue<0)}function Ln(e,t,n){let r=n.v,o=n.w;t.hasEdge(r,o)||(r=n.w,o=n.v);let s=e.node(r),i=e.node(o),a=s,u=!1;return s.lim>i.lim&&(a=i,u=!0),
t.edges().filter(c=>u===tn(e,e.node(c.v),a)&&u!==tn(e,e.node(c.w),a)).reduce((c,d)=>de(t,d)<de(t,c)?d:c)}function Rn(e,t,n,r){let o=n.v,s=n.w;e.removeEdge(o,s),
e.setEdge(r.v,r.w,{}),ft(e),ht(e,t),Po(e,t)}function Po(e,t){let n=e.nodes().find(o=>!e.node(o).parent);if(!n)return;let r=jo(e,[n]);r=r.slice(1),r.forEach(o=>{
let s=e.node(o).parent,i=t.edge(o,s),a=!1;i||(i=t.edge(s,o),a=!0),t.node(o).rank=t.node(s).rank+(a?i.minlen:-i.minlen)})}function Mo(e,t,n){return e.hasEdge(t,n)}
function tn(e,t,n){return n.low<=t.lim&&t.lim<=n.lim}var Lo=Ro;function Ro(e){let t=e.graph().ranker;if(typeof t=="function")return t(e);switch(t){case"network-\
simplex":nn(e);break;case"tight-tree":Fo(e);break;case"longest-path":Do(e);break;case"none":break;default:nn(e)}}var Do=ct;function Fo(e){ct(e),In(e)}function nn(e){
Io(e)}var Ao=Ho;function Ho(e){let t=Bo(e),n=e.graph();Array.isArray(n.dummyChains)&&n.dummyChains.forEach(r=>{let o=e.node(r),s=o.edgeObj,i=qo(e,t,s.v,s.w),a=i.
path,u=i.lca,c=0,d=a[c],h=!0;for(;r!==s.w;){if(o=e.node(r),h){for(;(d=a[c])!==u&&e.node(d).maxRank<o.rank;)c++;d===u&&(h=!1)}if(!h){for(;c<a.length-1&&e.node(a[c+
1]).minRank<=o.rank;)c++;d=a[c]}d!==void 0&&e.setParent(r,d),r=e.successors(r)[0]}})}function qo(e,t,n,r){let o=[],s=[],i=Math.min(t[n].low,t[r].low),a=Math.max(
t[n].lim,t[r].lim),u;u=n;do u=e.parent(u),o.push(u);while(u&&(t[u].low>i||a>t[u].lim));let c=u,d=r;for(;(d=e.parent(d))!==c;)s.push(d);return{path:o.concat(s.reverse()),
lca:c}}function Bo(e){let t={},n=0;function r(o){let s=n;e.children(o).forEach(r),t[o]={low:s,lim:n++}}return e.children(Le).forEach(r),t}function Vo(e){let t=ue(
e,"root",{},"_root"),n=Uo(e),r=Object.values(n),o=X(Math.max,r)-1,s=2*o+1;e.graph().nestingRoot=t,e.edges().forEach(a=>e.edge(a).minlen*=s);let i=Wo(e)+1;e.children(
Le).forEach(a=>{Dn(e,t,s,i,o,n,a)}),e.graph().nodeRankFactor=s}function Dn(e,t,n,r,o,s,i){var a;let u=e.children(i);if(!u.length){i!==t&&e.setEdge(t,i,{weight:0,
minlen:n});return}let c=Zt(e,"_bt"),d=Zt(e,"_bb"),h=e.node(i);e.setParent(c,i),h.borderTop=c,e.setParent(d,i),h.borderBottom=d,u.forEach(p=>{var f;Dn(e,t,n,r,o,
s,p);let _=e.node(p),w=_.borderTop?_.borderTop:p,b=_.borderBottom?_.borderBottom:p,y=_.borderTop?r:2*r,g=w!==b?1:o-((f=s[i])!=null?f:0)+1;e.setEdge(c,w,{weight:y,
minlen:g,nestingEdge:!0}),e.setEdge(b,d,{weight:y,minlen:g,nestingEdge:!0})}),e.parent(i)||e.setEdge(t,c,{weight:0,minlen:o+((a=s[i])!=null?a:0)})}function Uo(e){
let t={};function n(r,o){let s=e.children(r);s&&s.length&&s.forEach(i=>n(i,o+1)),t[r]=o}return e.children(Le).forEach(r=>n(r,1)),t}function Wo(e){return e.edges().
reduce((t,n)=>t+e.edge(n).weight,0)}function Yo(e){let t=e.graph();e.removeNode(t.nestingRoot),delete t.nestingRoot,e.edges().forEach(n=>{e.edge(n).nestingEdge&&
e.removeEdge(n)})}var zo=Go;function Go(e){function t(n){let r=e.children(n),o=e.node(n);if(r.length&&r.forEach(t),o&&Object.hasOwn(o,"minRank")){o.borderLeft=[],
o.borderRight=[];for(let s=o.minRank,i=o.maxRank+1;s<i;++s)rn(e,"borderLeft","_bl",n,o,s),rn(e,"borderRight","_br",n,o,s)}}e.children(Le).forEach(t)}function rn(e,t,n,r,o,s){
let i={width:0,height:0,rank:s,borderType:t},a=o[t][s-1],u=ue(e,"border",i,n);o[t][s]=u,e.setParent(u,r),a&&e.setEdge(a,u,{weight:1})}function Ko(e){var t;let n=(t=
e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="lr"||n==="rl")&&Fn(e)}function Xo(e){var t;let n=(t=e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="\
bt"||n==="rl")&&Jo(e),(n==="lr"||n==="rl")&&(Qo(e),Fn(e))}function Fn(e){e.nodes().forEach(t=>on(e.node(t))),e.edges().forEach(t=>on(e.edge(t)))}function on(e){
let t=e.width;e.width=e.height,e.height=t}function Jo(e){e.nodes().forEach(t=>rt(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==null||n.forEach(
rt),Object.hasOwn(r,"y")&&rt(r)})}function rt(e){e.y=-e.y}function Qo(e){e.nodes().forEach(t=>ot(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==
null||n.forEach(ot),Object.hasOwn(r,"x")&&ot(r)})}function ot(e){let t=e.x;e.x=e.y,e.y=t}function Zo(e,t=null){let n={},r=e.nodes().filter(c=>!e.children(c).length),
o=r.map(c=>e.node(c).rank),s=X(Math.max,o),i=ve(s+1).map(()=>[]);function a(c){if(n[c])return;n[c]=!0;let d=e.node(c);i[d.rank].push(c);let h=e.successors(c);h&&
[...h].sort((p,f)=>u(p,f)).forEach(a)}r.sort((c,d)=>e.node(c).rank-e.node(d).rank).forEach(a);function u(c,d){let h=e.node(c),p=e.node(d);return $n(t,h,p)}return i}
function es(e,t){let n=0;for(let r=1;r<t.length;++r)n+=ts(e,t[r-1],t[r]);return n}function ts(e,t,n){let r=ao(n,n.map((c,d)=>d)),o=t.flatMap(c=>{let d=e.outEdges(
c);return d?d.map(h=>({pos:r[h.w],weight:e.edge(h).weight})).sort((h,p)=>h.pos-p.pos):[]}),s=1;for(;s<n.length;)s<<=1;let i=2*s-1;s-=1;let a=new Array(i).fill(0),
u=0;return o.forEach(c=>{let d=c.pos+s;a[d]+=c.weight;let h=0;for(;d>0;)d%2&&(h+=a[d+1]),d=d-1>>1,a[d]+=c.weight;u+=c.weight*h}),u}function ns(e,t=[]){return t.
map(n=>{let r=e.inEdges(n);if(!r||!r.length)return{v:n};{let o=r.reduce((s,i)=>{let a=e.edge(i),u=e.node(i.v);return{sum:s.sum+a.weight*u.order,weight:s.weight+
a.weight}},{sum:0,weight:0});return{v:n,barycenter:o.sum/o.weight,weight:o.weight}}})}function rs(e,t){let n={};e.forEach((o,s)=>{let i={indegree:0,in:[],out:[],
vs:[o.v],i:s};o.barycenter!==void 0&&(i.barycenter=o.barycenter,i.weight=o.weight),n[o.v]=i}),t.edges().forEach(o=>{let s=n[o.v],i=n[o.w];s!==void 0&&i!==void 0&&
(i.indegree++,s.out.push(i))});let r=Object.values(n).filter(o=>!o.indegree);return os(r)}function os(e){let t=[];function n(o){return s=>{s.merged||(s.barycenter===
void 0||o.barycenter===void 0||s.barycenter>=o.barycenter)&&ss(o,s)}}function r(o){return s=>{s.in.push(o),--s.indegree===0&&e.push(s)}}for(;e.length;){let o=e.
pop();t.push(o),o.in.reverse().forEach(n(o)),o.out.forEach(r(o))}return t.filter(o=>!o.merged).map(o=>Pe(o,["vs","i","barycenter","weight"]))}function ss(e,t){let n=0,
r=0;e.weight&&(n+=e.barycenter*e.weight,r+=e.weight),t.weight&&(n+=t.barycenter*t.weight,r+=t.weight),e.vs=t.vs.concat(e.vs),e.barycenter=n/r,e.weight=r,e.i=Math.
min(t.i,e.i),t.merged=!0}function is(e,t,n,r,o){let s={},i=null,a=null,u=o;typeof t=="boolean"?(u=t,s={}):t&&(s=t,i=n??null,a=r??null);let c=oo(e,y=>Object.hasOwn(
y,"barycenter")),d=c.lhs,h=c.rhs.sort((y,g)=>g.i-y.i),p=[],f=0,_=0,w=0;d.sort(as(a,i,!!u));for(let[y,g]of Object.entries(s)){let v=d.findIndex(m=>m.vs[0]===y);d.
splice(v+1,0,g)}w=sn(p,h,w),d.forEach(y=>{w+=y.vs.length,p.push(y.vs),f+=y.barycenter*y.weight,_+=y.weight,w=sn(p,h,w)});let b={vs:p.flat(1)};return _&&(b.barycenter=
f/_,b.weight=_),b}function sn(e,t,n){let r;for(;t.length&&(r=t[t.length-1]).i<=n;)t.pop(),e.push(r.vs),n++;return n}function as(e,t,n){return(r,o)=>{if(r.barycenter<
o.barycenter)return-1;if(r.barycenter>o.barycenter)return 1;if(e&&(typeof r.vs[0]=="string"||typeof o.vs[0]=="string")){let s=e.node(r.vs[0]),i=e.node(o.vs[0]),
a=$n(t,s,i);if(a!==0)return a}return n?o.i-r.i:r.i-o.i}}function An(e,t,n,r,o){var s,i,a,u,c,d,h,p,f,_,w;let b=null,y=o;typeof r=="boolean"?(y=r,b=null):r!==void 0&&
(b=r);let g=e.children(t),v=e.node(t),m=v?v.borderLeft:void 0,E=v?v.borderRight:void 0,j={};m&&(g=g.filter(x=>x!==m&&x!==E));let L=ns(e,g);L.forEach(x=>{if(e.children(
x.v).length){let{result:N}=An(e,x.v,n,b,y);j[x.v]=N,Object.hasOwn(N,"barycenter")&&ds(x,N)}});let k=rs(L,n);ls(k,j);let P={},R=!1;for(let x=0;x<k.length;x++)for(let N=x+
1;N<k.length;N++)if(!(!k[x]||!k[N]||!((s=k[x])!=null&&s.barycenter)||!((i=k[N])!=null&&i.barycenter))&&((a=k[x])==null?void 0:a.barycenter)===k[N].barycenter){let S=(c=
(u=k[x])==null?void 0:u.vs[0])!=null?c:"",O=(h=(d=k[N])==null?void 0:d.vs[0])!=null?h:"",D=e.node(S),ae=e.node(O);if(D.dummy==="edge"&&ae.dummy==="edge"&&((p=D.
edgeObj)==null?void 0:p.v)===((f=ae.edgeObj)==null?void 0:f.v)&&((_=D.edgeObj)==null?void 0:_.w)===((w=ae.edgeObj)==null?void 0:w.w))if(D.edgeLabel.reversed){P[O]=
k[x],k.splice(x,1),x--;break}else P[S]||(P[S]=k[N],k.splice(N,1),N--);else R=!0}let C=is(k,P,b,e,y);if(m&&E){C.vs=[m,C.vs,E].flat(1);let x=e.predecessors(m);if(x&&
x.length){let N=e.node(x[0]),S=e.predecessors(E),O=e.node(S[0]);Object.hasOwn(C,"barycenter")||(C.barycenter=0,C.weight=0),C.barycenter=(C.barycenter*C.weight+N.
order+O.order)/(C.weight+2),C.weight+=2}}return Object.defineProperty(C,"result",{value:C,enumerable:!1,configurable:!0,writable:!0}),Object.defineProperty(C,"u\
sedBias",{value:R,enumerable:!1,configurable:!0,writable:!0}),C}function ls(e,t){e.forEach(n=>{n.vs=n.vs.flatMap(r=>t[r]?t[r].vs:r)})}function ds(e,t){e.barycenter!==
void 0?(e.barycenter=(e.barycenter*e.weight+t.barycenter*t.weight)/(e.weight+t.weight),e.weight+=t.weight):(e.barycenter=t.barycenter,e.weight=t.weight)}function us(e,t,n,r){
r||(r=e.nodes());let o=cs(e),s=new z({compound:!0}).setGraph({root:o}).setDefaultNodeLabel(i=>e.node(i));return r.forEach(i=>{let a=e.node(i),u=e.parent(i);if(a.
rank===t||a.minRank<=t&&t<=a.maxRank){s.setNode(i),s.setParent(i,u||o);let c=e[n](i);c&&c.forEach(d=>{let h=d.v===i?d.w:d.v,p=s.edge(h,i),f=p!==void 0?p.weight:
0;s.setEdge(h,i,{weight:e.edge(d).weight+f})}),Object.hasOwn(a,"minRank")&&s.setNode(i,{borderLeft:a.borderLeft[t],borderRight:a.borderRight[t]})}}),s}function cs(e){
let t;for(;e.hasNode(t=ut("_root")););return t}function hs(e,t,n){let r={},o;n.forEach(s=>{let i=e.parent(s),a,u;for(;i;){if(a=e.parent(i),a?(u=r[a],r[a]=i):(u=
o,o=i),u&&u!==i){t.setEdge(u,i);return}i=a}})}function Hn(e,t={},n=null){if(typeof t.customOrder=="function"){t.customOrder(e,Hn);return}let r=Sn(e),o=an(e,ve(1,
r+1),"inEdges"),s=an(e,ve(r-1,-1,-1),"outEdges"),i=Zo(e,n);if(ln(e,i),t.disableOptimalOrderHeuristic)return;let a=Number.POSITIVE_INFINITY,u,c=t.constraints||[];
for(let d=0,h=0;h<4;++d,++h){fs(d%2?o:s,d%4>=2,c,n),i=be(e);let p=es(e,i);p<a?(h=0,u=Object.assign({},i),a=p):p===a&&(u=structuredClone(i))}ln(e,u)}function an(e,t,n){
let r=new Map,o=(s,i)=>{r.has(s)||r.set(s,[]),r.get(s).push(i)};for(let s of e.nodes()){let i=e.node(s);if(typeof i.rank=="number"&&o(i.rank,s),typeof i.minRank==
"number"&&typeof i.maxRank=="number")for(let a=i.minRank;a<=i.maxRank;a++)a!==i.rank&&o(a,s)}return t.map(function(s){return us(e,s,n,r.get(s)||[])})}function fs(e,t,n,r){
let o=!0,s=new z;e.forEach(function(i){n.forEach(d=>s.setEdge(d.left,d.right));let a=i.graph().root,{result:u,usedBias:c}=An(i,a,s,r,o);t&&c&&(o=!o),u.vs.forEach(
(d,h)=>i.node(d).order=h),hs(i,s,u.vs)})}function ln(e,t){Object.values(t).forEach(n=>n.forEach((r,o)=>e.node(r).order=o))}function ps(e,t){let n={};function r(o,s){
let i=0,a=0,u=o.length,c=s[s.length-1];return s.forEach((d,h)=>{let p=_s(e,d),f=p?e.node(p).order:u;(p||d===c)&&(s.slice(a,h+1).forEach(_=>{let w=e.predecessors(
_);w&&w.forEach(b=>{let y=e.node(b),g=y.order;(g<i||f<g)&&!(y.dummy&&e.node(_).dummy)&&qn(n,b,_)})}),a=h+1,i=f)}),s}return t.length&&t.reduce(r),n}function gs(e,t){
let n={};function r(i){var a;return((a=e.node(i))==null?void 0:a.dummy)==="border"}if(!e.nodes().some(r))return n;function o(i,a,u,c,d){ve(a,u).forEach(h=>{let p=i[h];
if(p!==void 0&&e.node(p).dummy){let f=e.predecessors(p);f&&f.forEach(_=>{if(_===void 0)return;let w=e.node(_);w.dummy&&(w.order<c||w.order>d)&&qn(n,_,p)})}})}function s(i,a){
let u=-1,c=-1,d=0;return a.forEach((h,p)=>{if(r(h)){let f=e.predecessors(h);if(f&&f.length){let _=f[0];if(_===void 0)return;c=e.node(_).order,o(a,d,p,u,c),d=p,u=
c}}o(a,d,a.length,c,i.length)}),a}return t.length&&t.reduce(s),n}function _s(e,t){if(e.node(t).dummy){let n=e.predecessors(t);if(n)return n.find(r=>e.node(r).dummy)}}
function qn(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];r||(e[t]=r={}),r[n]=!0}function ms(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];return r!==void 0&&Object.hasOwn(
r,n)}function vs(e,t,n,r,o){let s={},i={},a={};return t.forEach(u=>{u.forEach((c,d)=>{s[c]=c,i[c]=c,a[c]=d})}),t.forEach(u=>{let c=-1,d=-1,h=!1,p=u,f=u.findIndex(
_=>o?.includes(_)||dn(_,e,o));f>0&&(p=[u[f],...u.slice(0,f),...u.slice(f+1)],h=!0),p.forEach(_=>{var w;let b=r(_);if(b&&b.length){o!=null&&o.includes(_)&&(b=b.filter(
v=>dn(v,e,o)));let y=b.sort((v,m)=>{let E=a[v],j=a[m];return(E!==void 0?E:0)-(j!==void 0?j:0)}),g=(y.length-1)/2;for(let v=Math.floor(g),m=Math.ceil(g);v<=m;++v){
let E=y[v];if(E===void 0)continue;let j=a[E];if(j!==void 0&&i[_]===_&&c<j&&a[E]!==d&&!ms(n,_,E)){let L=s[E];L!==void 0&&(i[E]=_,i[_]=s[_]=L,c=j,h&&(c=-1,d=(w=a[E])!=
null?w:-1,h=!1))}}}})}),{root:s,align:i}}function bs(e,t,n,r,o=!1){let s={},i=ws(e,t,n,o),a=o?"borderLeft":"borderRight";function u(f,_){let w=i.nodes().slice(),
b={},y=w.pop();for(;y;){if(b[y])f(y);else{b[y]=!0,w.push(y);for(let g of _(y))w.push(g)}y=w.pop()}}function c(f){let _=i.inEdges(f);_?s[f]=_.reduce((w,b)=>{var y;
let g=(y=s[b.v])!=null?y:0,v=i.edge(b);return Math.max(w,g+(v!==void 0?v:0))},0):s[f]=0}function d(f){let _=i.outEdges(f),w=Number.POSITIVE_INFINITY;_&&(w=_.reduce(
(y,g)=>{let v=s[g.w],m=i.edge(g);return Math.min(y,(v!==void 0?v:0)-(m!==void 0?m:0))},Number.POSITIVE_INFINITY));let b=e.node(f);w!==Number.POSITIVE_INFINITY&&
b.borderType!==a&&(s[f]=Math.max(s[f]!==void 0?s[f]:0,w))}function h(f){return i.predecessors(f)||[]}function p(f){return i.successors(f)||[]}return u(c,h),u(d,
p),Object.keys(r).forEach(f=>{var _;let w=n[f];w!==void 0&&(s[f]=(_=s[w])!=null?_:0)}),s}function ws(e,t,n,r){let o=new z,s=e.graph(),i=Ns(s.nodesep,s.edgesep,r);
return t.forEach(a=>{let u;a.forEach(c=>{let d=n[c];if(d!==void 0){if(o.setNode(d),u!==void 0){let h=n[u];if(h!==void 0){let p=o.edge(h,d);o.setEdge(h,d,Math.max(
i(e,c,u),p||0))}}u=c}})}),o}function ys(e,t){return Object.values(t).reduce((n,r)=>{let o=Number.NEGATIVE_INFINITY,s=Number.POSITIVE_INFINITY;Object.entries(r).
forEach(([a,u])=>{let c=Os(e,a)/2;o=Math.max(u+c,o),s=Math.min(u-c,s)});let i=o-s;return i<n[0]&&(n=[i,r]),n},[Number.POSITIVE_INFINITY,null])[1]}function Es(e,t){
let n=Object.values(t),r=X(Math.min,n),o=X(Math.max,n);["u","d"].forEach(s=>{["l","r"].forEach(i=>{let a=s+i,u=e[a];if(!u||u===t)return;let c=Object.values(u),d=r-
X(Math.min,c);i!=="l"&&(d=o-X(Math.max,c)),d&&(e[a]=Me(u,h=>h+d))})})}function ks(e,t=void 0){let n=e.ul;return n?Me(n,(r,o)=>{var s,i;if(t){let u=t.toLowerCase(),
c=e[u];if(c&&c[o]!==void 0)return c[o]}let a=Object.values(e).map(u=>{let c=u[o];return c!==void 0?c:0}).sort((u,c)=>u-c);return(((s=a[1])!=null?s:0)+((i=a[2])!=
null?i:0))/2}):{}}function xs(e,t){let n=be(e),r=Object.assign(ps(e,n),gs(e,n)),o={},s;["u","d"].forEach(a=>{s=a==="u"?n:Object.values(n).reverse(),["l","r"].forEach(
u=>{u==="r"&&(s=s.map(h=>Object.values(h).reverse()));let c=vs(e,s,r,h=>(a==="u"?e.predecessors(h):e.successors(h))||[],t),d=bs(e,s,c.root,c.align,u==="r");u===
"r"&&(d=Me(d,h=>-h)),o[a+u]=d})});let i=ys(e,o);return Es(o,i),ks(o,e.graph().align)}function Ns(e,t,n){return(r,o,s)=>{let i=r.node(o),a=r.node(s),u=0,c;if(u+=
i.width/2,Object.hasOwn(i,"labelpos"))switch(i.labelpos.toLowerCase()){case"l":c=-i.width/2;break;case"r":c=i.width/2;break}if(c&&(u+=n?c:-c),c=void 0,u+=(i.dummy?
t:e)/2,u+=(a.dummy?t:e)/2,u+=a.width/2,Object.hasOwn(a,"labelpos"))switch(a.labelpos.toLowerCase()){case"l":c=a.width/2;break;case"r":c=-a.width/2;break}return c&&
(u+=n?c:-c),u}}function Os(e,t){return e.node(t).width}function dn(e,t,n){var r;if(!n)return!1;let o=(r=t.node(e))==null?void 0:r.edgeObj;if(!o||t.node(e).edgeLabel.
reversed)return!1;let s=n.indexOf(o?.v),i=n.indexOf(o?.w);return s!==-1&&i!==-1&&s===(i+1)%n.length||s===(i-1)%n.length}function Cs(e,t){e=On(e),Ss(e),Object.entries(
xs(e,t)).forEach(([n,r])=>e.node(n).x=r)}function Ss(e){let t=be(e),n=e.graph(),r=n.ranksep,o=n.rankalign,s=0;t.forEach(i=>{let a=i.reduce((u,c)=>{var d;let h=(d=
e.node(c).height)!=null?d:0;return u>h?u:h},0);i.forEach(u=>{let c=e.node(u);o==="top"?c.y=s+c.height/2:o==="bottom"?c.y=s+a-c.height/2:c.y=s+a/2}),s+=a+r})}var un=new WeakMap;
function js(e,t={}){return Bn(e,jn,t),e}function cn(e,t,n){let r=t;for(;r!==void 0;){let o=e.parent(r);if(o===n)return r;r=o}}function Bn(e,t,n){var r;let o=e.nodes().
filter(g=>e.children(g).length),s={};o.forEach(g=>{let v=e.node(g);if(v&&v.rankdir){let m=new z({multigraph:!0,compound:!0});m.setGraph({rankdir:v.rankdir});let E=e.
children(g);E.forEach(S=>{let O={...e.node(S)};m.setNode(S,O);let D=e.parent(S);D&&D!==g&&E.includes(D)&&m.setParent(S,D)});let j=new Set;e.edges().forEach(S=>{
let O=cn(e,S.v,g),D=cn(e,S.w,g);if(O===S.v&&D===S.w)m.setEdge(S,{...e.edge(S)});else if(O&&D&&O!==D){let ae=`${O}\0${D}`;j.has(ae)||(j.add(ae),m.setEdge(O,D,{...e.
edge(S)}))}}),Bn(m,t,n);let L=_n(m);fn(L,t,n,null),pn(m,L);let k=1/0,P=1/0,R=-1/0,C=-1/0;m.nodes().forEach(S=>{if(S===g)return;let O=m.node(S);O&&typeof O.x=="n\
umber"&&typeof O.y=="number"&&typeof O.width=="number"&&typeof O.height=="number"&&(k=Math.min(k,O.x-O.width/2),R=Math.max(R,O.x+O.width/2),P=Math.min(P,O.y-O.height/
2),C=Math.max(C,O.y+O.height/2))}),(!isFinite(k)||!isFinite(P)||!isFinite(R)||!isFinite(C))&&(k=P=0,R=C=0);let x=R-k,N=C-P;s[g]={minX:k,minY:P,maxX:R,maxY:C,width:x,
height:N,offsetX:k,offsetY:P},v._dagreClusterSubgraph=m}});let i=[],a=g=>{let v=[],m=(e.children(g)||[]).filter(E=>E!==g);for(;m.length>0;){let E=m.shift();v.push(
E),(e.children(E)||[]).filter(j=>j!==E).forEach(j=>m.push(j))}return v},u=new Map;o.forEach(g=>{let v=e.node(g);v&&v.rankdir&&s[g]&&u.set(g,(e.children(g)||[]).
filter(m=>m!==g))});let c=new Set([...u.values()].flat()),d=new Map;u.forEach((g,v)=>{c.has(v)||d.set(v,a(v))});let h=new Set([...d.values()].flat()),p=g=>{for(let[
v,m]of d)if(m.includes(g))return v;return g},f=[];e.edges().forEach(g=>{(h.has(g.v)||h.has(g.w))&&f.push({edge:g,label:e.edge(g)})});let _=new Map;h.forEach(g=>{
let v=e.parent(g);_.set(g,typeof v=="string"?v:void 0)}),d.forEach((g,v)=>{let m=e.node(v),E=[];g.forEach(k=>{let P=e.node(k);P&&(E.push({id:k,node:P,parent:_.get(
k)}),e.removeNode(k))});let j=f.filter(({edge:k})=>g.includes(k.v)||g.includes(k.w)),L=s[v];m&&(i.push({clusterId:v,subgraph:m._dagreClusterSubgraph,bounds:L,children:g,
removedNodes:E,removedEdges:j}),m.width=L.width,m.height=L.height)});let w=new Set;f.forEach(({edge:g,label:v})=>{let m=p(g.v),E=p(g.w);if(m!==E&&e.hasNode(m)&&
e.hasNode(E)){let j=`${m}\0${E}`;w.has(j)||(w.add(j),e.setEdge(m,E,{...v,width:0,height:0}))}});let b=_n(e),y=fn(b,t,n,(r=un.get(e))!=null?r:null);un.set(e,y),pn(
e,b),w.forEach(g=>{let v=g.indexOf("\0"),m=g.slice(0,v),E=g.slice(v+1);e.hasEdge(m,E)&&e.removeEdge(m,E)}),i.forEach(({clusterId:g,subgraph:v,bounds:m,removedNodes:E,
removedEdges:j})=>{var L,k;let P=e.node(g),R=(L=P?.x)!=null?L:0,C=(k=P?.y)!=null?k:0,x=(m.minX+m.maxX)/2,N=(m.minY+m.maxY)/2;E.forEach(({id:S,node:O,parent:D})=>{
e.setNode(S,O),D!==void 0&&e.setParent(S,D)}),j.forEach(({edge:S,label:O})=>{e.setEdge(S,O)}),v.nodes().forEach(S=>{if(S===g)return;let O=v.node(S),D=e.node(S);
D&&O&&typeof O.x=="number"&&typeof O.y=="number"&&(D.x=R+(O.x-x),D.y=C+(O.y-N))}),hn(e,v,R-x,C-N),delete P._dagreClusterSubgraph}),o.forEach(g=>{var v,m;let E=e.
node(g),j=s[g];if(E&&E.rankdir&&E._dagreClusterSubgraph&&j){let L=E._dagreClusterSubgraph,k=(v=E.x)!=null?v:0,P=(m=E.y)!=null?m:0,R=(j.minX+j.maxX)/2,C=(j.minY+
j.maxY)/2;L.nodes().forEach(x=>{if(x===g)return;let N=L.node(x),S=e.node(x);if(S&&N&&typeof N.x=="number"&&typeof N.y=="number"){let O=N.x-R,D=N.y-C;S.x=k+O,S.y=
P+D}}),hn(e,L,k-R,P-C),delete E._dagreClusterSubgraph}})}function hn(e,t,n,r){t.edges().forEach(o=>{if(!e.hasEdge(o))return;let s=t.edge(o),i=e.edge(o);i.points=
s.points.map(a=>({x:a.x+n,y:a.y+r})),Object.hasOwn(s,"x")&&(i.x=s.x+n,i.y=s.y+r)})}function fn(e,t,n,r=null){var o,s;let i=n?.useDynamic!==!1,a=i&&(o=r?.graph)!=
null?o:null,u=i&&(s=r?.rawNodes)!=null?s:null;t("    makeSpaceForEdgeLabels",()=>Ds(e)),t("    removeSelfEdges",()=>Ys(e)),t("    acyclic",()=>vo(e,a)),t("    n\
estingGraph.run",()=>Vo(e)),t("    rank",()=>Lo(On(e))),t("    injectEdgeLabelProxies",()=>Fs(e)),t("    removeEmptyRanks",()=>no(e)),t("    nestingGraph.cleanu\
p",()=>Yo(e)),t("    normalizeRanks",()=>to(e)),t("    assignRankMinMax",()=>As(e)),t("    removeEdgeLabelProxies",()=>Hs(e)),t("    normalize.run",()=>Eo(e)),t(
"    parentDummyChains",()=>Ao(e)),t("    addBorderSegments",()=>zo(e)),t("    order",()=>Hn(e,n,u)),t("    insertSelfEdges",()=>zs(e)),t("    adjustCoordinateS\
ystem",()=>Ko(e)),t("    position",()=>Cs(e,n.corePath)),t("    positionSelfEdges",()=>Gs(e));let c=JSON.parse(JSON.stringify(e._nodes));return t("    removeBor\
derNodes",()=>Ws(e)),t("    normalize.undo",()=>xo(e)),t("    fixupEdgeLabelCoords",()=>Vs(e)),t("    undoCoordinateSystem",()=>Xo(e)),t("    translateGraph",()=>qs(
e)),t("    assignNodeIntersects",()=>Bs(e)),t("    reversePoints",()=>Us(e)),t("    acyclic.undo",()=>wo(e)),{graph:e,rawNodes:c}}function pn(e,t){e.nodes().forEach(
n=>{let r=e.node(n),o=t.node(n);r&&(r.x=o.x,r.y=o.y,r.order=o.order,r.rank=o.rank,t.children(n).length&&(r.width=o.width,r.height=o.height))}),e.edges().forEach(
n=>{let r=e.edge(n),o=t.edge(n);r.points=o.points,Object.hasOwn(o,"x")&&(r.x=o.x,r.y=o.y)}),e.graph().width=t.graph().width,e.graph().height=t.graph().height}var $s=[
"nodesep","edgesep","ranksep","marginx","marginy"],Is={ranksep:50,edgesep:20,nodesep:50,rankdir:"TB",rankalign:"center"},Ts=["acyclicer","ranker","rankdir","ali\
gn","rankalign"],Ps=["width","height","rank"],gn={width:0,height:0},Ms=["minlen","weight","width","height","labeloffset"],Ls={minlen:1,weight:1,width:0,height:0,
labeloffset:10,labelpos:"r"},Rs=["labelpos"];function _n(e){let t=new z({multigraph:!0,compound:!0}),n=it(e.graph());return t.setGraph(Object.assign({},Is,st(n,
$s),Pe(n,Ts))),e.nodes().forEach(r=>{let o=it(e.node(r)),s=st(o,Ps);Object.keys(gn).forEach(a=>{s[a]===void 0&&(s[a]=gn[a])}),t.setNode(r,s);let i=e.parent(r);i!==
void 0&&t.setParent(r,i)}),e.edges().forEach(r=>{let o=it(e.edge(r));t.setEdge(r,Object.assign({},Ls,st(o,Ms),Pe(o,Rs)))}),t}function Ds(e){let t=e.graph();t.ranksep/=
2,e.edges().forEach(n=>{var r;let o=e.edge(n);o.minlen*=2,((r=o.labelpos)!=null?r:"r").toLowerCase()!=="c"&&(t.rankdir==="TB"||t.rankdir==="BT"?o.width+=o.labeloffset:
o.height+=o.labeloffset)})}function Fs(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.width&&n.height){let r=e.node(t.v),o={rank:(e.node(t.w).rank-r.rank)/2+r.rank,
e:t};ue(e,"edge-proxy",o,"_ep")}})}function As(e){let t=0;e.nodes().forEach(n=>{let r=e.node(n);r.borderTop&&(r.minRank=e.node(r.borderTop).rank,r.maxRank=e.node(
r.borderBottom).rank,t=Math.max(t,r.maxRank))}),e.graph().maxRank=t}function Hs(e){e.nodes().forEach(t=>{let n=e.node(t);if(n.dummy==="edge-proxy"){let r=n;e.edge(
r.e).labelRank=n.rank,e.removeNode(t)}})}function qs(e){let t=Number.POSITIVE_INFINITY,n=0,r=Number.POSITIVE_INFINITY,o=0,s=e.graph(),i=s.marginx||0,a=s.marginy||
0;function u(c){let d=c.x,h=c.y,p=c.width,f=c.height;t=Math.min(t,d-p/2),n=Math.max(n,d+p/2),r=Math.min(r,h-f/2),o=Math.max(o,h+f/2)}e.nodes().forEach(c=>u(e.node(
c))),e.edges().forEach(c=>{let d=e.edge(c);Object.hasOwn(d,"x")&&u(d)}),t-=i,r-=a,e.nodes().forEach(c=>{let d=e.node(c);d.x-=t,d.y-=r}),e.edges().forEach(c=>{let d=e.
edge(c);d.points.forEach(h=>{h.x-=t,h.y-=r}),Object.hasOwn(d,"x")&&(d.x-=t),Object.hasOwn(d,"y")&&(d.y-=r)}),s.width=n-t+i,s.height=o-r+a}function Bs(e){e.edges().
forEach(t=>{if(t.v===t.w)return;let n=e.edge(t),r=e.node(t.v),o=e.node(t.w),s,i;n.points?(s=n.points[0],i=n.points[n.points.length-1]):(n.points=[],s=o,i=r),n.points.
unshift(Qt(r,s)),n.points.push(Qt(o,i))})}function Vs(e){e.edges().forEach(t=>{let n=e.edge(t);if(Object.hasOwn(n,"x"))switch((n.labelpos==="l"||n.labelpos==="r")&&
(n.width-=n.labeloffset),n.labelpos){case"l":n.x-=n.width/2+n.labeloffset;break;case"r":n.x+=n.width/2+n.labeloffset;break}})}function Us(e){e.edges().forEach(t=>{
let n=e.edge(t);n.reversed&&n.points.reverse()})}function Ws(e){e.nodes().forEach(t=>{if(e.children(t).length){let n=e.node(t),r=e.node(n.borderTop),o=e.node(n.
borderBottom),s=e.node(n.borderLeft[n.borderLeft.length-1]),i=e.node(n.borderRight[n.borderRight.length-1]);n.width=Math.abs(i.x-s.x),n.height=Math.abs(o.y-r.y),
n.x=s.x+n.width/2,n.y=r.y+n.height/2}}),e.nodes().forEach(t=>{e.node(t).dummy==="border"&&e.removeNode(t)})}function Ys(e){e.edges().forEach(t=>{if(t.v===t.w){let n=e.
node(t.v);n.selfEdges||(n.selfEdges=[]),n.selfEdges.push({e:t,label:e.edge(t)}),e.removeEdge(t)}})}function zs(e){be(e).forEach(t=>{let n=0;t.forEach((r,o)=>{let s=e.
node(r);typeof s.rank!="number"&&(s.rank=0),s.order=o+n,(s.selfEdges||[]).forEach(i=>{ue(e,"selfedge",{width:i.label.width,height:i.label.height,rank:s.rank,order:o+
++n,e:i.e,edgeLabel:i.label},"_se"),(!Array.isArray(i.label.points)||i.label.points.length!==7)&&(i.label.points=[{x:0,y:-10},{x:0,y:-10},{x:0,y:0},{x:0,y:10},{
x:0,y:10},{x:0,y:0},{x:0,y:0}])}),delete s.selfEdges})})}function Gs(e){e.nodes().forEach(t=>{let n=e.node(t),r=o=>typeof o=="number"&&isFinite(o);if(n.dummy===
"selfedge"){let o=n,s=e.node(o.e.v),i=r(s?.x)?s.x:0,a=r(s?.y)?s.y:0,u=r(s?.width)?s.width:0,c=r(s?.height)?s.height:0,d=r(n.x)?n.x:i,h=r(n.y)?n.y:a,p=u/2,f=c/2;
o.edgeLabel.points=[{x:d+p,y:h-f},{x:d+p,y:h-f},{x:d,y:h},{x:d-p,y:h+f},{x:d-p,y:h+f},{x:d,y:h},{x:d,y:h}],o.edgeLabel.x=d,o.edgeLabel.y=h,e.setEdge(o.e,o.edgeLabel),
e.removeNode(t)}else n&&Array.isArray(n.selfEdges)&&n.selfEdges.forEach(o=>{if(!Array.isArray(o.label.points)||o.label.points.length!==7){let s=r(n.x)?n.x:0,i=r(
n.y)?n.y:0,a=r(n.width)?n.width:0,u=r(n.height)?n.height:0,c=a/2,d=u/2;o.label.points=[{x:s+c,y:i-d},{x:s+c,y:i-d},{x:s,y:i},{x:s-c,y:i+d},{x:s-c,y:i+d},{x:s,y:i},
{x:s,y:i}]}})})}function st(e,t){return Me(Pe(e,t),Number)}function it(e){let t={};return e&&Object.entries(e).forEach(([n,r])=>{typeof n=="string"&&(n=n.toLowerCase()),
t[n]=r}),t}function Ks(e){let t=be(e),n=new z({compound:!0,multigraph:!0}).setGraph({});return e.nodes().forEach(r=>{n.setNode(r,{label:r}),n.setParent(r,"layer"+
e.node(r).rank)}),e.edges().forEach(r=>n.setEdge(r.v,r.w,{},r.name)),t.forEach((r,o)=>{let s="layer"+o;n.setNode(s,{rank:"same"}),r.reduce((i,a)=>(n.setEdge(i,a,
{style:"invis"}),a))}),n}var Xs={graphlib:vn,version:lo,layout:js,debug:Ks,util:{time:so,notime:jn}},pt=Xs;var Js=7.3,Vn=17;function Qs(e){let t=[],n=[],r=e.exports??[];r.forEach((u,c)=>{t.push({id:`export ${u.cluster}`,lines:[`ServiceExport in ${u.cluster}`,u.status+
(c===0&&r.length>1?", oldest":""),(u.ports??[]).join(" ")],tone:["Published","Ready"].includes(u.status)?"":"warning"}),n.push([`export ${u.cluster}`,"merge"])});
let o=(e.values??[]).filter(u=>Object.keys(u.others??{}).length).length;t.push({id:"merge",lines:["merge",o?`${o} conflicts: the oldest wins`:`${(e.values??[]).
length} properties agree`],tone:o?"warning":""});let s=e.import;t.push({id:"import",lines:s?[`ServiceImport in ${e.cluster}`,`${s.type}, ${s.status}`,(s.ips??[]).
join(" ")]:[`no ServiceImport in ${e.cluster}`],tone:s?.status==="Ready"?"good":"error"}),n.push(["merge","import"]);let i=e.records??[];t.push({id:"dns",lines:[
"DNS",...i.length?i.map(u=>`${u.type} ${u.values?.[0]??""}${u.total>1?` and ${u.total-1} more`:""}`):["no answer"],e.dns?.length?`by ${e.dns.join(", ")}`:"not f\
orwarded"],tone:i.length&&e.dns?.length?"good":"error"}),n.push(["import","dns"]);let a=e.derivedService?"service":"import";e.derivedService&&(t.push({id:"servi\
ce",lines:["derived Service",e.derivedService]}),n.push(["import","service"]));for(let u of e.sources??[]){let d=(e.endpoints??[]).filter(h=>h.cluster===u.cluster).
filter(h=>h.state==="Standby");t.push({id:`endpoints ${u.cluster}`,lines:[`endpoints of ${u.cluster}`,`${u.readyHere} ready of ${u.imported}`,d.length?`${d.length}\
 on standby (${d[0].reason})`:""],tone:u.readyHere?"good":d.length?"warning":"error"}),n.push([a,`endpoints ${u.cluster}`])}return{nodes:t.map(u=>({...u,lines:u.
lines.filter(Boolean).map(Zs)})),edges:n}}function Zs(e){return e.length>40?e.slice(0,39)+"\u2026":e}function Un({detail:e}){let{nodes:t,edges:n}=Qs(e),r=new pt.
graphlib.Graph().setGraph({rankdir:"LR",nodesep:12,ranksep:36,marginx:4,marginy:4}).setDefaultEdgeLabel(()=>({}));for(let i of t)r.setNode(i.id,{width:Math.max(
...i.lines.map(a=>a.length))*Js+20,height:i.lines.length*Vn+14});for(let[i,a]of n)r.setEdge(i,a);pt.layout(r);let{width:o=0,height:s=0}=r.graph();return l("div",
{class:"scroll",tabIndex:0,role:"region","aria-label":"The way of the service",children:l("svg",{class:"flow",role:"img","aria-label":t.map(i=>i.lines.join(" ")).
join("; "),width:o,height:s,viewBox:`0 0 ${o} ${s}`,children:[r.edges().map(i=>l("path",{class:"edge",d:`M${r.edge(i).points.map(a=>`${a.x} ${a.y}`).join("L")}`})),
t.map(i=>{let a=r.node(i.id);return l("g",{class:i.tone,transform:`translate(${a.x-a.width/2} ${a.y-a.height/2})`,children:[l("rect",{width:a.width,height:a.height,
rx:5}),i.lines.map((u,c)=>l("text",{x:10,y:Vn*(c+1)+1,class:c?"":"head",children:u}))]})})]})})}function Yn(){let{overview:e,services:t}=B(),{rest:n,query:r}=W(),o=n.join("/"),s=t.get(o);if(!e)return l(M,{children:"Reading the clusters."});let i=e.clusters.
filter(u=>u.context!==void 0&&u.state!=="unread"),a=r.get("cluster")||(i.find(u=>s?.imports?.[u.id])??i[0])?.id||"";return l($,{children:[l(V,{children:o}),!s&&
l(M,{children:"No cluster that is read exports or imports this service."}),s&&l(ei,{row:s}),!F&&i.length>0&&l($,{children:[l("h2",{children:l(K,{label:"As seen \
from",value:a,of:i.map(u=>[u.id,u.id]),onChange:u=>Y({cluster:u})})}),l(ni,{id:o,cluster:a,seen:JSON.stringify(s??null)})]}),F&&l(ti,{row:s})]})}function ei({row:e}){
return l("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"The service in each cluster",children:l("table",{children:[l("thead",{children:l("tr",{children:[
l("th",{scope:"col",children:"Cluster"}),l("th",{scope:"col",children:"Export"}),l("th",{scope:"col",children:"Import"}),l("th",{scope:"col",children:"Ready"}),
l("th",{scope:"col",children:"From"})]})}),l("tbody",{children:T.overview.clusters.map(t=>{let[n,r]=[e.exports?.[t.id],e.imports?.[t.id]];return l("tr",{class:q(
t)?"stale":"",children:[l("th",{scope:"row",children:[t.id," ",q(t)&&l("span",{class:"tag",children:q(t)})]}),l("td",{children:n&&l(Wn,{cell:n})}),l("td",{children:r&&
l(Wn,{cell:r})}),l("td",{children:r&&`${r.r??0} of ${r.n??0}`}),l("td",{children:Object.entries(r?.f??{}).sort().map(([o,[s,i]])=>`${o}: ${s}${i?` (+${i} on sta\
ndby)`:""}`).join(", ")})]})})})]})})}function Wn({cell:e}){return l($,{children:[e.p&&l(_e,{of:e.p})," ",e.s,e.m&&l("span",{class:"small",children:[": ",e.m]})]})}
function ti({row:e}){return e?.conflicts?.length?l($,{children:[l("h2",{children:"Conflicts"}),l(zn,{all:e.conflicts})]}):null}function zn({all:e,why:t}){return l(
"div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Merged properties",children:l("table",{children:[l("thead",{children:l("tr",{children:[l("th",{scope:"\
col",children:"Property"}),l("th",{scope:"col",children:"Value"}),l("th",{scope:"col",children:"From"}),l("th",{scope:"col",children:"Others want"})]})}),l("tbo\
dy",{children:e.map(n=>l("tr",{children:[l("th",{scope:"row",children:n.property}),l("td",{children:n.using}),l("td",{children:[n.from,t&&n.others?` (${t})`:""]}),
l("td",{children:Object.entries(n.others??{}).map(([r,o])=>`${r}: ${o}`).join(", ")})]}))})]})})}function ni({id:e,cluster:t,seen:n}){let r=oe(`${e} ${t} ${n}`,
s=>re("explain",{service:e,cluster:t},s)),o=r.value;return l("section",{"aria-busy":r.loading,children:[r.loading&&!o&&l(M,{children:["Reading ",t,"."]}),r.error&&
l(M,{children:r.error}),o&&l($,{children:[l("p",{children:[l("code",{children:o.name})," ",l("strong",{class:`verdict ${o.verdict==="works"?"good":o.verdict==="\
does not work"?"bad":"warn"}`,children:o.verdict})," in ",o.cluster,"."]}),l(Un,{detail:o}),l("h3",{children:"Findings"}),l($e,{all:o.findings}),o.values&&l($,{
children:[l("h3",{children:"Merged properties"}),l(zn,{all:o.values,why:"oldest export"})]}),l("h3",{children:"Endpoints"}),l("div",{class:"scroll",tabIndex:0,role:"\
region","aria-label":"Endpoints",children:l("table",{children:[l("thead",{children:l("tr",{children:[l("th",{scope:"col",children:"Address"}),l("th",{scope:"col",
children:"Cluster"}),l("th",{scope:"col",children:"State"}),l("th",{scope:"col",children:"Ports"}),l("th",{scope:"col",children:"Zone"})]})}),l("tbody",{children:(o.
endpoints??[]).slice(0,500).map(s=>l("tr",{children:[l("th",{scope:"row",children:s.addresses.join(" ")}),l("td",{children:s.cluster}),l("td",{children:s.state+
(s.reason?` (${s.reason})`:"")}),l("td",{children:(s.ports??[]).join(" ")}),l("td",{children:s.zone})]}))})]})}),(o.endpoints?.length??0)>500&&l("p",{class:"sma\
ll",children:["The first 500 of ",o.endpoints.length,"."]}),l("h3",{children:"Commands"}),o.commands.map(s=>l("p",{children:l(ee,{text:s})})),l("h3",{children:"\
Objects"}),(o.objects??[]).map(s=>l("details",{children:[l("summary",{children:s.name}),l("pre",{tabIndex:0,children:s.yaml})]}))]})]})}var ie=30,Gn=10,ri=[["","all"],["problem","with problems"],["conflict","in conflict"],["standby","with standby"],["unserved","without a ready endpoint"]];function oi(e,t,n){
let r=o=>n?[o?.[n]].filter(s=>s!==void 0):Object.values(o??{});switch(t){case"problem":return[...r(e.exports),...r(e.imports)].some(o=>o.p);case"conflict":return!!e.
conflicts?.length;case"standby":return r(e.imports).some(o=>o.b);case"unserved":return r(e.imports).some(o=>!o.r)}return!n||r(e.exports).length+r(e.imports).length>
0}function si(e,t,n,r,o){let s=t.toLowerCase().split(/\s+/).filter(Boolean);return e.filter(i=>(!n||i.id.startsWith(n+"/"))&&s.every(a=>i.id.includes(a))&&(!r&&
!o||oi(i,r,o)))}function Jn(){let{overview:e,sorted:t,version:n}=B(),{query:r}=W(),[o,s,i,a]=["q","ns","state","cluster"].map(h=>r.get(h)??""),u=pe(null),c=je(()=>si(
t,o,s,i,a),[n,o,s,i,a]),d=je(()=>[...new Set(t.map(h=>h.id.split("/")[0]))],[t]);return J(()=>{let h=p=>{p.key==="/"&&!p.target.closest("input, select, textarea")&&
(p.preventDefault(),u.current?.focus())};return addEventListener("keydown",h),()=>removeEventListener("keydown",h)},[]),e?l($,{children:[l(V,{children:"Services"}),
l("form",{class:"filter",role:"search",onSubmit:h=>h.preventDefault(),children:[l("label",{children:["Filter ",l("kbd",{"aria-hidden":"true",children:"/"})," ",
l("input",{ref:u,type:"search",value:o,"aria-keyshortcuts":"/",onInput:h=>Y({q:h.currentTarget.value})})]}),l(K,{label:"Namespace",value:s,of:[["","all"],...d.map(
h=>[h,h])],onChange:h=>Y({ns:h})}),l(K,{label:"State",value:i,of:ri,onChange:h=>Y({state:h})}),l(K,{label:"Cluster",value:a,of:[["","all"],...e.clusters.map(h=>[
h.id,h.id])],onChange:h=>Y({cluster:h})}),l("output",{"aria-live":"polite",children:[c.length," of ",t.length]})]}),l(ii,{rows:c,clusters:a?e.clusters.filter(h=>h.
id===a):e.clusters}),l("p",{class:"small",children:[l("span",{class:"legend",children:"\u2191 exports"}),l("span",{class:"legend",children:"\u2193 imports: ready end\
points of all, + on standby"}),l("span",{class:"legend",children:"\u2260 conflict"})]})]}):l(M,{children:"Reading the clusters."})}function ii({rows:e,clusters:t}){
let n=pe(null),[r,o]=U(0),[s,i]=U(600),[a,u]=U(0);J(()=>{let p=new ResizeObserver(()=>i(n.current?.clientHeight??600));return p.observe(n.current),()=>p.disconnect()},
[]);let c=Math.max(0,Math.min(Math.floor(r/ie)-Gn,e.length-1)),d=Math.min(e.length,Math.ceil((r+s)/ie)+Gn);return l("div",{class:"scroll services",ref:n,tabIndex:0,
role:"region","aria-label":"Services and clusters",onScroll:p=>o(p.currentTarget.scrollTop),onKeyDown:p=>{let f={ArrowDown:1,ArrowUp:-1,PageDown:15,PageUp:-15,Home:-e.
length,End:e.length}[p.key];if(!f||!e.length)return;p.preventDefault();let _=Math.max(0,Math.min(e.length-1,a+f));u(_);let w=_*ie,b=n.current;w<b.scrollTop?b.scrollTop=
w:w+2*ie>b.scrollTop+b.clientHeight&&(b.scrollTop=w+2*ie-b.clientHeight),requestAnimationFrame(()=>requestAnimationFrame(()=>b.querySelector(`[data-at="${_}"] a`)?.
focus({preventScroll:!0})))},children:l("table",{"aria-rowcount":e.length+1,children:[l("thead",{children:l("tr",{"aria-rowindex":1,children:[l("th",{scope:"col",
children:"Service"}),t.map(p=>l("th",{scope:"col",class:q(p)?"stale":"",title:q(p),children:p.id}))]})}),l("tbody",{children:[c>0&&l("tr",{class:"space","aria-h\
idden":"true",ref:p=>{p?.style.setProperty("height",`${c*ie}px`)}}),e.slice(c,d).map((p,f)=>l("tr",{"data-at":c+f,"aria-rowindex":c+f+2,children:[l("th",{scope:"\
row",children:[l("a",{href:le(p.id),onFocus:()=>u(c+f),children:p.id}),p.conflicts?.length?l("a",{class:"tag conflict",href:`#/conflicts?q=${p.id}`,"aria-label":`${p.
conflicts.length} conflicts`,tabIndex:-1,children:"\u2260"}):null]}),t.map(_=>l(ai,{row:p,c:_}))]},p.id)),d<e.length&&l("tr",{class:"space","aria-hidden":"true",
ref:p=>{p?.style.setProperty("height",`${(e.length-d)*ie}px`)}})]})]})})}function ai({row:e,c:t}){let n=e.exports?.[t.id],r=e.imports?.[t.id],o=[n,r].map(i=>i?.
p).sort((i,a)=>Kn(i)-Kn(a))[0],s=[n&&`exports: ${Xn(n)}`,r&&`imports: ${Xn(r)}, ${r.r??0} of ${r.n??0} endpoints ready${r.b?`, ${r.b} on standby`:""}`,q(t)].filter(
Boolean);return l("td",{class:`${o??""} ${q(t)?"stale":""}`,title:s.join(`
`),children:[n&&"\u2191",r&&` \u2193 ${r.r??0}/${r.n??0}`,r?.b?` +${r.b}`:"",o&&l("span",{class:"hidden",children:o})]})}function Kn(e){return["error","warning",
"pending",void 0].indexOf(e)}function Xn(e){return e.s+(e.m?` (${e.m})`:"")}var Qn={clusters:["Clusters",Ut],services:["Services",Jn],conflicts:["Conflicts",Yt],checks:["Checks",zt],events:["Events",Gt],"what-if":["What if",Kt]};function li(){
let{overview:e,connected:t}=B(),{page:n}=W(),r=n==="service"?Yn:Qn[n]?.[1];return l($,{children:[l("a",{class:"skip",href:"#main",onClick:o=>(o.preventDefault(),
document.getElementById("main")?.focus()),children:"Skip to the content"}),l("header",{children:[l("strong",{children:["Atoll ",e?.clusterset]}),l("nav",{"aria-\
label":"Pages",children:Object.entries(Qn).map(([o,[s]])=>l("a",{href:`#/${o}`,"aria-current":o===n||o==="services"&&n==="service"?"page":void 0,children:s}))}),
l("span",{class:`live ${t?"good":"bad"}`,role:"status",children:F?`snapshot of ${new Date(F.overview.at).toLocaleString()}`:t?"live":"not connected"})]}),l("mai\
n",{id:"main",tabIndex:-1,class:t?"":"stale",children:[!t&&e&&l(M,{children:"atoll console does not answer: what is shown is old. If it has ended, run it again."}),
r?l(r,{}):l(V,{children:["There is no page ",n]})]})]})}Vt();Ct(l(li,{}),document.getElementById("app"));})();
