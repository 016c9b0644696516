"use strict";(()=>{var T,Nt,cr,te,We,je,Ot,Oe,Ct,Ue,Ve,hr,_e=Symbol.for("pv"),Ie={},Te=[],fr=/^m(i|n|o|s|text|space)$/,Ye=Array.isArray,St=Te.slice,se=Object.assign;function oe(e){
e&&e.parentNode&&e.remove()}function Ce(e,t,n,r,o){var s={type:e,props:t,key:n,ref:r,__k:null,__:null,__b:0,__e:null,__c:null,constructor:_e,__v:o||++Nt,__i:-1,__u:0};return!o&&T.vnode&&T.
vnode(s),s}function j(e){return e.children}function Se(e,t){this.props=e,this.context=t,this.__g=0}function ne(e,t){if(t==null)return e.__&&ne(e.__,e.__i+1);for(var n;t<e.
__k.length;t++)if((n=e.__k[t])&&n.__e)return n.__e;return typeof e.type!="function"||e.props.__P?null:ne(e)}function pr(e){var t,n=e.__v,r=n.__e,o=[],s=[],i=e.__P;
i&&((t=se({constructor:_e},n)).__v=n.__v+1,T.vnode&&T.vnode(t),ze(i,t,n,e.__n,i.namespaceURI,32&n.__u?[r]:null,o,r||ne(n),32&n.__u,s),t.__v=n.__v,t.__.__k[t.__i]=
t,Pt(o,t,s),n.__=n.__e=null,t.__e!=r&&$t(t))}function $t(e){if((e=e.__)&&e.__c&&!e.props.__P)return e.__e=null,e.__k.some(function(t){return t&&(e.__e=t.__e)}),
$t(e)}function kt(e){(8&e.__g||(e.__g|=8,te.push(e),je++))&&We==T.debounceRendering||((We=T.debounceRendering)||queueMicrotask)(jt)}function jt(){try{for(var e,
t=1;te.length;)te.length>t&&te.sort(Ot),e=te.shift(),t=te.length,8&e.__g&&pr(e)}finally{(je=te.length)&&(We||queueMicrotask)(jt)}}function It(e,t,n,r,o,s,i,a,c,l,d){
var f,p,h,g,b,v,y=r.__k||Te,_=t.length;for(c=gr(n,t,y,c,_),f=0;f<_;f++)(h=n.__k[f])!=null&&(p=~h.__i&&y[h.__i]||Ie,h.__i=f,v=ze(e,h,p,o,s,i,a,c,l,d),g=h.__e,(p.
ref!=h.ref||8&p.__u)&&(p.ref&&Ge(p.ref,null,h,p),h.ref&&d.push(h.ref,h.__c||g,h)),b=b||g,4&h.__u?(c=Tt(h,c,e,!p.__v),p.__e&&(p.__e=null)):typeof h.type=="functi\
on"&&v!==void 0?c=v:g&&(c=g.nextSibling),h.__u&=-21);return n.__e=b,c}function gr(e,t,n,r,o){var s,i,a,c,l,d,f,p,h,g=n.length,b=g,v=0,y=0,_=e.__k=Array(o);for(s=
0;s<o;s++)(i=t[s])!=null&&typeof i!="boolean"&&typeof i!="function"?(typeof i!="object"||i.constructor===String?i=_[s]=Ce(null,i):Ye(i)?i=_[s]=Ce(j,{children:i}):
i.constructor===_e&&i.__b?i=_[s]=Ce(i.type,i.props,i.key,i.ref,i.__v):_[s]=i,c=s+v,i.__=e,i.__b=e.__b+1,a=null,~(l=i.__i=_r(i,n,c,b))&&(b--,(a=n[l])&&(a.__u|=2)),
a&&a.__v?(i.__u|=16,l==c-1?v--:l==c+1?v++:l!=c&&(l>c?v--:v++,y=1)):(~l||(o>g?v--:o<g&&v++),typeof i.type!="function"&&(i.__u|=4))):_[s]=null;if(y){for(d=[],f=[],
s=0;s<o;s++)if((i=_[s])&&16&i.__u){for(v=0,p=d.length;v<p;)d[h=v+p>>1]<i.__i?v=h+1:p=h;d[v]=i.__i,f[s]=v+1}for(v=d.length;s--;)f[s]&&(f[s]==v?v--:_[s].__u|=4)}if(b)
for(s=0;s<g;s++)!(a=n[s])||2&a.__u||(a.__e==r&&(r=ne(a)),Xe(a,a));return r}function Tt(e,t,n,r){var o,s,i,a;if(typeof e.type=="function"){if(e.props.__P)return t;
if(o=e.__k)for(s=0;s<o.length;s++)o[s]&&(o[s].__=e,t=Tt(o[s],t,n,!1));return t}for(t&&!t.parentNode&&(t=ne(e))&&!t.parentNode&&(t=null),i=e.__e,a=t;a&&a.nodeType==
8;)a=a.nextSibling;for(i!=a&&(!r&&n.moveBefore&&i.parentNode?n.moveBefore(i,t):n.insertBefore(i,t||null)),t=i;(t=t&&t.nextSibling)&&t.nodeType==8&&!t.data.startsWith(
"$s"););return t}function _r(e,t,n,r){var o,s=e.key,i=e.type,a=t[n],c=a&&!(2&a.__u);if(a===null&&s==null||c&&s==a.key&&i==a.type)return n;if(r>(c?1:0)){for(o=n-1;o>=0;o--)if((a=
t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o;for(o=n+1;o<t.length;o++)if((a=t[o])&&!(2&a.__u)&&s==a.key&&i==a.type)return o}return-1}function xt(e,t,n){n==null&&
(n=""),t[0]=="-"?e.setProperty(t,n):e[t]=n}function Ne(e,t,n,r,o){var s,i;if(t=="style")if(typeof n=="string")e.style.cssText=n;else{if(typeof r=="string"&&(e.style.
cssText=r=""),r)for(t in r)n&&t in n||xt(e.style,t);if(n)for(t in n)r&&n[t]==r[t]||xt(e.style,t,n[t])}else if(t[0]=="o"&&t[1]=="n")typeof n!="function"&&(n=null),
typeof r!="function"&&(r=null),(e.__e||(e.__e={}))[t]=n,n&&r||(i=Ve[t]||(Ve[t]=mr(t)),(e.__a||(e.__a={}))[t]=Ue,s=t!=(t=t.replace(Ct,"$1")),(t=t.slice(2))[0]<"a"&&
(t=t.toLowerCase()),n?e.addEventListener(t,i,s):e.removeEventListener(t,i,s));else{if(o=="http://www.w3.org/2000/svg")t=t.replace(/xlink(H|:h)/,"h").replace(/sName$/,
"s");else if(t!="width"&&t!="height"&&t!="href"&&t!="list"&&t!="form"&&t!="tabIndex"&&t!="download"&&t!="rowSpan"&&t!="colSpan"&&t!="role"&&t!="popover"&&t in e)
try{return void(e[t]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&t[4]!="-"?e.removeAttribute(t):e.setAttribute(t,t=="popover"&&n==1?"":n)}}function mr(e){
return function(t){var n=this.__e;if(n){if(n=n[e],t[Oe]==null)t[Oe]=Ue++;else if(t[Oe]<this.__a[e])return;return n(T.event?T.event(t):t)}}}function ze(e,t,n,r,o,s,i,a,c,l){
var d,f,p,h,g,b,v,y,_,w,m,E,$,L,k,P,R,C,x=t.type;if(t.constructor!==_e)return null;128&n.__u&&(c=32&n.__u,d=n.__c.__z)&&(t.__u|=c,f=s=[],d.nodeType==8?a=$e(d,s):
s.push(d),a=s[0]||a),(d=T.__b)&&d(t);e:if(typeof x=="function"){p=i.length;try{if(y=t.props,_=(d=x.prototype)&&d.render,w=(d=x.contextType)&&r[d.__c],m=d?w?w.props.
value:d.__:r,(h=n.__c)?(t.__c=h,2&h.__g&&(h.__g|=1)):(_?t.__c=h=new x(y,m):(t.__c=h=new Se(y,m),h.constructor=x,h.render=br),w&&w.sub(h),h.state||(h.state={}),h.
__n=r,h.__g|=8,h.__h=[],h.__k=[]),_&&(h.__s||(h.__s=h.state),x.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=se({},h.__s)),se(h.__s,x.getDerivedStateFromProps(
y,h.__s)))),g=h.props,b=h.state,h.__v=t,n.__c){if(y!==g&&_&&!x.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(y,m),t.__v==n.
__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(y,h.__s,m)===!1){t.__v!=n.__v&&(h.props=y,h.state=h.__s,h.__g&=-9),t.__e=n.__e,t.__k=
n.__k,t.__k.some(function(N){N&&(N.__=t)}),Te.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&i.push(h),a=ne(n);break e}h.componentWillUpdate&&h.componentWillUpdate(
y,h.__s,m),_&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(g,b,v)})}else _&&!x.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),
_&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=m,h.props=y,h.__P=e,h.__g&=-5,E=T.__r,$=_?25:0;do h.__g&=-9,E&&E(t),d=h.render(h.props,h.state=
h.__s,h.context);while(8&h.__g&&++$<25);_&&(Te.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(r=se({},r,h.getChildContext())),_&&n.__c&&h.getSnapshotBeforeUpdate&&
(v=h.getSnapshotBeforeUpdate(g,b)),L=d&&d.type===j&&d.key==null?d.props.children:d,y.__P&&(d=a,o=(e=y.__P).namespaceURI,c=s=null,n.props&&n.props.__P!=e&&(n.__k.
some(function(N){N&&Xe(N,N)}),n.__k=null),a=n.__k?ne(n,0):null),a=It(e,Ye(L)?L:[L],t,n,r,o,s,i,a,c,l),y.__P&&(t.__e=null,a=d),t.__u&=-161,f&&f.some(oe),h.__h.length&&
i.push(h),1&h.__g&&(h.__g&=-4)}catch(N){if(i.length=p,t.__v=null,c||s)if(N&&N.then){if(t.__u|=128|c,s){for(~(R=s.indexOf(a||void 0))||(R=s.length);(C=s[R-1])&&C.
nodeType==8;)R--;for(;R<s.length;R++)if(C=s[R])if(s[R]=null,k){if(C==P)break}else{if(C.nodeType!=8)break;C.data.startsWith("$s")&&(P=$e(k=C))}}if(!k){for(;a&&a.
nodeType==8&&a.nextSibling;)a=a.nextSibling;k=a}(d=$e(k=t.__c.__z||(t.__c.__z=k)))?(t.__e=k,a=d):t.__e=a,a=a&&a.nextSibling}else s&&s.some(oe);else t.__e=n.__e;
t.__k||(t.__k=n.__k||[]),N&&N.then||Mt(t),T.__e(N,t,n)}}else a=t.__e=vr(n.__e,t,n,r,o,s,i,c,l,e);return(d=T.diffed)&&d(t),a}function $e(e,t){if(e&&e.nodeType==8&&
e.data.startsWith("$s"))for(var n=1;e=e.nextSibling;){if(e.nodeType==8){if(e.data.startsWith("$s"))n++;else if(e.data.startsWith("/$s")&&!--n)return e}t&&t.push(
e)}}function Mt(e){e&&(e.__c&&(e.__c.__g|=4),e.__k&&e.__k.some(Mt))}function Pt(e,t,n){for(var r=0;r<n.length;)Ge(n[r++],n[r++],n[r++]);T.__c&&T.__c(t,e),e.some(
function(o){try{e=o.__h,o.__h=[],e.some(function(s){s.call(o)})}catch(s){T.__e(s,o.__v)}})}function vr(e,t,n,r,o,s,i,a,c,l){var d,f,p,h,g,b,v,y,_=n.props||Ie,w=t.
props,m=t.type;if(m=="svg"?o="http://www.w3.org/2000/svg":m=="math"?o="http://www.w3.org/1998/Math/MathML":o||(o="http://www.w3.org/1999/xhtml"),s){for(d=0;d<s.
length;d++)if((g=s[d])&&(m?g.localName==m:g.nodeType==3)){e=g,s[d]=null;break}}if(!e){if(y=l.ownerDocument||document,!m)return y.createTextNode(w);e=y.createElementNS(
o,m,w.is?w:l),a&&(T.__m&&T.__m(t,s),a=!1),s=null}if(m){if(l=m=="template"&&e.content||e,s=m=="textarea"&&w.defaultValue!=null?null:s&&St.call(l.childNodes),!a&&
s)for(_={},d=0;d<e.attributes.length;d++)_[(g=e.attributes[d]).name]=g.value;for(d in _)g=_[d],d=="dangerouslySetInnerHTML"?p=g:d=="children"||d in w||d=="value"&&
"defaultValue"in w||d=="checked"&&"defaultChecked"in w||Ne(e,d,null,g,o);for(d in w)g=w[d],d=="children"?h=g:d=="dangerouslySetInnerHTML"?f=g:d=="value"?b=g:d==
"checked"?v=g:a&&typeof g!="function"||_[d]===g||Ne(e,d,g,_[d],o);f?(a||p&&(f.__html==p.__html||f.__html==e.innerHTML)||(e.innerHTML=f.__html),t.__k=[]):(p&&(e.
textContent=""),(m=="foreignObject"||o=="http://www.w3.org/1998/Math/MathML"&&fr.test(m))&&(o="http://www.w3.org/1999/xhtml"),It(l,Ye(h)?h:[h],t,n,r,o,s,i,s?s[0]:
n.__k&&ne(n,0),a,c),s&&s.some(oe)),a&&m!="textarea"||(d="value",m=="progress"&&b==null?e.removeAttribute(d):b==null||b===e[d]&&(m!="progress"||b)||Ne(e,d,b,_[d],
o),d="checked",v!=null&&v!=e[d]&&Ne(e,d,v,_[d],o))}else _===w||a&&e.data==w||(e.data=w);return e}function Ge(e,t,n,r){try{typeof e=="function"?t?t.__x=e(t)||1:r&&
(r=r.__c||r.__e)&&(t=r.__x)&&(r.__x=null,typeof t=="function"?t():e(null)):e.current=t}catch(o){T.__e(o,n)}}function Xe(e,t,n){var r,o,s,i;if(T.unmount&&T.unmount(
e),!(r=e.ref)||r.current&&r.current!=e.__e||Ge(r,null,t,e),r=e.__c){if(r.componentWillUnmount)try{r.componentWillUnmount()}catch(a){T.__e(a,t)}r.__P=r.__n=null}
if(r=e.__k)for(i=0;i<r.length;i++)r[i]&&Xe(r[i],t,typeof e.type!="function"||n&&!e.props.__P);!n&&(r=e.__c)&&(r=r.__z)&&(o=$e(r,s=[]))&&(r==e.__e&&s.some(oe),oe(
o),oe(r)),n||oe(e.__e),e.__e=e.__c=e.__=null}function br(e,t,n){return this.constructor(e,n)}function Lt(e,t){var n,r,o,s;T.__&&T.__(e,t),t.nodeType==9&&(t=t.documentElement),
r=(n=e&&32&e.__u)?null:t.__k,t.__k=Ce(j,{children:[e]}),o=[],s=[],ze(t,t.__k,r||Ie,Ie,t.namespaceURI,r?null:t.firstChild?St.call(t.childNodes):null,o,r?r.__e:t.
firstChild,n,s),Pt(o,t.__k,s),t.__k.props.children=null}T={__e:function(e,t,n,r){for(var o,s,i;t=t.__;)if((o=t.__c)&&!(1&o.__g)){o.__g|=4;try{if((i=(s=o.constructor)&&s.getDerivedStateFromError)&&o.setState(s.getDerivedStateFromError(
e)),o.componentDidCatch&&(o.componentDidCatch(e,r||{}),i=1),i&&8&o.__g)return void(o.__g|=2)}catch(a){e=a}}throw je=0,e}},Nt=0,cr=function(e){return e!=null&&e.
constructor===_e},Se.prototype.setState=function(e,t){var n=this.__s;n&&n!=this.state||(n=this.__s=se({},this.state)),typeof e=="function"&&(e=e(se({},n),this.props)),
e&&(se(n,e),this.__v&&(t&&this.__k.push(t),kt(this)))},Se.prototype.forceUpdate=function(e){this.__v&&(this.__g|=4,e&&this.__h.push(e),kt(this))},Se.prototype.render=
j,te=[],je=0,Ot=function(e,t){return e.__v.__b-t.__v.__b},Oe=Symbol(),Ct=/(PointerCapture)$|Capture$/i,Ue=0,Ve={},hr=0;var nn=Object.defineProperty,wr=(e,t,n)=>t in e?nn(e,t,{enumerable:!0,configurable:!0,writable:!0,value:n}):e[t]=n,yr=(e,t)=>{for(var n in t)nn(e,n,{get:t[n],enumerable:!0})},
Er=(e,t,n)=>wr(e,typeof t!="symbol"?t+"":t,n),rn={};yr(rn,{Graph:()=>z,alg:()=>ot});var kr=Object.defineProperty,on=(e,t)=>{for(var n in t)kr(e,n,{get:t[n],enumerable:!0})},
rt=class{constructor(e){this._isDirected=!0,this._isMultigraph=!1,this._isCompound=!1,this._nodes={},this._in={},this._preds={},this._out={},this._sucs={},this.
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
return e.reduce((n,r)=>(t!==void 0?this.setEdge(n,r,t):this.setEdge(n,r),r)),this}setEdge(e,t,n,r){let o,s,i,a,c=!1;typeof e=="object"&&e!==null&&"v"in e?(o=e.v,
s=e.w,i=e.name,arguments.length===2&&(a=t,c=!0)):(o=e,s=t,i=r,arguments.length>2&&(a=n,c=!0)),o=""+o,s=""+s,i!==void 0&&(i=""+i);let l=me(this._isDirected,o,s,i);
if(l in this._edgeLabels)return c&&(this._edgeLabels[l]=a),this;if(i!==void 0&&!this._isMultigraph)throw new Error("Cannot set a named edge when isMultigraph = \
false");this.setNode(o),this.setNode(s),this._edgeLabels[l]=c?a:this._defaultEdgeLabelFn(o,s,i);let d=xr(this._isDirected,o,s,i);return o=d.v,s=d.w,Object.freeze(
d),this._edgeObjs[l]=d,Rt(this._preds[s],o),Rt(this._sucs[o],s),this._in[s][l]=d,this._out[o][l]=d,this._edgeCount++,this}edge(e,t,n){let r=arguments.length===1?
Ke(this._isDirected,e):me(this._isDirected,e,t,n);return this._edgeLabels[r]}edgeAsObj(e,t,n){let r=arguments.length===1?this.edge(e):this.edge(e,t,n);return typeof r!=
"object"||r===null?{label:r}:r}hasEdge(e,t,n){return(arguments.length===1?Ke(this._isDirected,e):me(this._isDirected,e,t,n))in this._edgeLabels}removeEdge(e,t,n){
let r=arguments.length===1?Ke(this._isDirected,e):me(this._isDirected,e,t,n),o=this._edgeObjs[r];if(o){let s=o.v,i=o.w;delete this._edgeLabels[r],delete this._edgeObjs[r],
Dt(this._preds[i],s),Dt(this._sucs[s],i),delete this._in[i][r],delete this._out[s][r],this._edgeCount--}return this}inEdges(e,t){return this.isDirected()?this.filterEdges(
this._in[e],e,t):this.nodeEdges(e,t)}outEdges(e,t){return this.isDirected()?this.filterEdges(this._out[e],e,t):this.nodeEdges(e,t)}nodeEdges(e,t){if(e in this._nodes)
return this.filterEdges({...this._in[e],...this._out[e]},e,t)}_removeFromParentsChildList(e){delete this._children[this._parent[e]][e]}filterEdges(e,t,n){if(!e)
return;let r=Object.values(e);return n?r.filter(o=>o.v===t&&o.w===n||o.v===n&&o.w===t):r}};function Rt(e,t){e[t]?e[t]++:e[t]=1}function Dt(e,t){e[t]!==void 0&&!--e[t]&&
delete e[t]}function me(e,t,n,r){let o=""+t,s=""+n;if(!e&&o>s){let i=o;o=s,s=i}return o+""+s+""+(r===void 0?"\0":r)}function xr(e,t,n,r){let o=""+t,s=""+n;if(!e&&
o>s){let a=o;o=s,s=a}let i={v:o,w:s};return r&&(i.name=r),i}function Ke(e,t){return me(e,t.v,t.w,t.name)}var Nr={};on(Nr,{read:()=>$r,write:()=>Or});function Or(e){
let t={options:{directed:e.isDirected(),multigraph:e.isMultigraph(),compound:e.isCompound()},nodes:Cr(e),edges:Sr(e)},n=e.graph();return n!==void 0&&(t.value=structuredClone(
n)),t}function Cr(e){return e.nodes().map(t=>{let n=e.node(t),r=e.parent(t),o={v:t};return n!==void 0&&(o.value=n),r!==void 0&&(o.parent=r),o})}function Sr(e){return e.
edges().map(t=>{let n=e.edge(t),r={v:t.v,w:t.w};return t.name!==void 0&&(r.name=t.name),n!==void 0&&(r.value=n),r})}function $r(e){let t=new rt(e.options);return e.
value!==void 0&&t.setGraph(e.value),e.nodes.forEach(n=>{t.setNode(n.v,n.value),n.parent&&t.setParent(n.v,n.parent)}),e.edges.forEach(n=>{t.setEdge({v:n.v,w:n.w,
name:n.name},n.value)}),t}var ot={};on(ot,{CycleException:()=>Pe,bellmanFord:()=>sn,components:()=>Tr,dijkstra:()=>Me,dijkstraAll:()=>Lr,findCycles:()=>Rr,floydWarshall:()=>Fr,
isAcyclic:()=>Hr,postorder:()=>qr,preorder:()=>Wr,prim:()=>Vr,shortestPaths:()=>Ur,tarjan:()=>ln,topsort:()=>dn});var jr=()=>1;function sn(e,t,n,r){return Ir(e,
String(t),n||jr,r||function(o){var s;return(s=e.outEdges(o))!=null?s:[]})}function Ir(e,t,n,r){let o={},s,i=0,a=e.nodes(),c=function(f){let p=o[f.v],h=o[f.w];if(!p||
!h)return;let g=n(f);p.distance+g<h.distance&&(o[f.w]={distance:p.distance+g,predecessor:f.v},s=!0)},l=function(){a.forEach(function(f){r(f).forEach(function(p){
let h=p.v===f?p.v:p.w,g=h===p.v?p.w:p.v;c({v:h,w:g})})})};a.forEach(function(f){let p=f===t?0:Number.POSITIVE_INFINITY;o[f]={distance:p,predecessor:""}});let d=a.
length;for(let f=1;f<d&&(s=!1,i++,l(),!!s);f++);if(i===d-1&&(s=!1,l(),s))throw new Error("The graph contains a negative weight cycle");return o}function Tr(e){let t={},
n=[],r;function o(s){var i,a;s in t||(t[s]=!0,r.push(s),(i=e.successors(s))==null||i.forEach(o),(a=e.predecessors(s))==null||a.forEach(o))}return e.nodes().forEach(
function(s){r=[],o(s),r.length&&n.push(r)}),n}var an=class{constructor(){this._arr=[],this._keyIndices={}}size(){return this._arr.length}keys(){return this._arr.
map(e=>e.key)}has(e){return e in this._keyIndices}priority(e){let t=this._keyIndices[e];if(t!==void 0)return this._arr[t].priority}min(){if(this.size()===0)throw new Error(
"Queue underflow");return this._arr[0].key}add(e,t){let n=this._keyIndices,r=String(e);if(!(r in n)){let o=this._arr,s=o.length;return n[r]=s,o.push({key:r,priority:t}),
this._decrease(s),!0}return!1}removeMin(){if(this.size()===0)throw new Error("Queue underflow");this._swap(0,this._arr.length-1);let e=this._arr.pop();return delete this.
_keyIndices[e.key],this._heapify(0),e.key}decrease(e,t){let n=this._keyIndices[e];if(n===void 0)throw new Error(`Key not found: ${e}`);let r=this._arr[n].priority;
if(t>r)throw new Error(`New priority is greater than current priority. Key: ${e} Old: ${r} New: ${t}`);this._arr[n].priority=t,this._decrease(n)}_heapify(e){let t=this.
_arr,n=2*e,r=n+1,o=e;n<t.length&&(o=t[n].priority<t[o].priority?n:o,r<t.length&&(o=t[r].priority<t[o].priority?r:o),o!==e&&(this._swap(e,o),this._heapify(o)))}_decrease(e){
let t=this._arr,n=t[e].priority,r;for(;e!==0&&(r=e>>1,!(t[r].priority<n));)this._swap(e,r),e=r}_swap(e,t){let n=this._arr,r=this._keyIndices,o=n[e],s=n[t];n[e]=
s,n[t]=o,r[s.key]=e,r[o.key]=t}},Mr=()=>1;function Me(e,t,n,r){let o=function(s){var i;return(i=e.outEdges(s))!=null?i:[]};return Pr(e,String(t),n||Mr,r||o)}function Pr(e,t,n,r){
let o={},s=new an,i,a,c=function(l){let d=l.v!==i?l.v:l.w,f=o[d];if(!f)return;let p=n(l),h=a.distance+p;if(p<0)throw new Error("dijkstra does not allow negative\
 edge weights. Bad edge: "+l+" Weight: "+p);h<f.distance&&(f.distance=h,f.predecessor=i,s.decrease(d,h))};for(e.nodes().forEach(function(l){let d=l===t?0:Number.
POSITIVE_INFINITY;o[l]={distance:d,predecessor:""},s.add(l,d)});s.size()>0;){i=s.removeMin();let l=o[i];if(!l||l.distance===Number.POSITIVE_INFINITY)break;a=l,r(
i).forEach(c)}return o}function Lr(e,t,n){return e.nodes().reduce(function(r,o){return r[o]=Me(e,o,t,n),r},{})}function ln(e){let t=0,n=[],r={},o=[];function s(i){
var a;let c=r[i]={onStack:!0,lowlink:t,index:t++};if(n.push(i),(a=e.successors(i))==null||a.forEach(function(l){if(l in r){let d=r[l];d!=null&&d.onStack&&(c.lowlink=
Math.min(c.lowlink,d.index))}else{s(l);let d=r[l];d&&(c.lowlink=Math.min(c.lowlink,d.lowlink))}}),c.lowlink===c.index){let l=[],d;do{d=n.pop();let f=r[d];f&&(f.
onStack=!1),l.push(d)}while(i!==d);o.push(l)}}return e.nodes().forEach(function(i){i in r||s(i)}),o}function Rr(e){return ln(e).filter(function(t){var n;let r=t[0];
return r?t.length>1||t.length===1&&((n=e.outEdges(r,r))!=null?n:[]).length>0:!1})}var Dr=()=>1;function Fr(e,t,n){return Ar(e,t||Dr,n||function(r){var o;return(o=
e.outEdges(r))!=null?o:[]})}function Ar(e,t,n){let r={},o=e.nodes();return o.forEach(function(s){let i={};r[s]=i,i[s]={distance:0,predecessor:""},o.forEach(function(a){
s!==a&&(i[a]={distance:Number.POSITIVE_INFINITY,predecessor:""})}),n(s).forEach(function(a){let c=a.v===s?a.w:a.v,l=t(a);i[c]={distance:l,predecessor:s}})}),o.forEach(
function(s){let i=r[s];i&&o.forEach(function(a){let c=r[a];c&&o.forEach(function(l){let d=c[s],f=i[l],p=c[l];if(d&&f&&p){let h=d.distance+f.distance;h<p.distance&&
(p.distance=h,p.predecessor=f.predecessor)}})})}),r}var Pe=class extends Error{constructor(e){super(e),this.name="CycleException"}};function dn(e){let t={},n={},
r=[];function o(s){var i;if(s in n)throw new Pe;s in t||(n[s]=!0,t[s]=!0,(i=e.predecessors(s))==null||i.forEach(o),delete n[s],r.push(s))}if(e.sinks().forEach(o),
Object.keys(t).length!==e.nodeCount())throw new Pe;return r}function Hr(e){try{dn(e)}catch(t){if(t instanceof Pe)return!1;throw t}return!0}function Br(e,t,n,r,o){
Array.isArray(t)||(t=[t]);let s=(a=>{var c;return(c=e.isDirected()?e.successors(a):e.neighbors(a))!=null?c:[]}),i={};return t.forEach(function(a){if(!e.hasNode(
a))throw new Error("Graph does not have node: "+a);o=un(e,a,n==="post",i,s,r,o)}),o}function un(e,t,n,r,o,s,i){return t in r||(r[t]=!0,n||(i=s(i,t)),o(t).forEach(
function(a){i=un(e,a,n,r,o,s,i)}),n&&(i=s(i,t))),i}function cn(e,t,n){return Br(e,t,n,function(r,o){return r.push(o),r},[])}function qr(e,t){return cn(e,t,"post")}
function Wr(e,t){return cn(e,t,"pre")}function Vr(e,t){var n;let r=new rt,o={},s=new an,i;function a(d){let f=d.v===i?d.w:d.v,p=s.priority(f);if(p!==void 0){let h=t(
d);h<p&&(o[f]=i,s.decrease(f,h))}}if(e.nodeCount()===0)return r;e.nodes().forEach(function(d){s.add(d,Number.POSITIVE_INFINITY),r.setNode(d)});let c=e.nodes()[0];
c!==void 0&&s.decrease(c,0);let l=!1;for(;s.size()>0;){if(i=s.removeMin(),i in o)r.setEdge(i,o[i]);else{if(l)throw new Error("Input graph is not connected: "+e);
l=!0}(n=e.nodeEdges(i))==null||n.forEach(a)}return r}function Ur(e,t,n,r){return Yr(e,t,n,r??(o=>{var s;return(s=e.outEdges(o))!=null?s:[]}))}function Yr(e,t,n,r){
if(n===void 0)return Me(e,t,n,r);let o=!1,s=e.nodes();for(let i=0;i<s.length;i++){let a=s[i];if(a===void 0)continue;let c=r(a);for(let l=0;l<c.length;l++){let d=c[l];
if(!d)continue;let f=d.v===a?d.v:d.w,p=f===d.v?d.w:d.v;n({v:f,w:p})<0&&(o=!0)}if(o)return sn(e,t,n,r)}return Me(e,t,n,r)}var z=rt;function he(e,t,n,r){let o=r;for(;e.
hasNode(o);)o=st(r);return n.dummy=t,e.setNode(o,n),o}function zr(e){let t=new z().setGraph(e.graph());return e.nodes().forEach(n=>t.setNode(n,e.node(n))),e.edges().
forEach(n=>{let r=t.edge(n.v,n.w)||{weight:0,minlen:1},o=e.edge(n);t.setEdge(n.v,n.w,{weight:r.weight+o.weight,minlen:Math.max(r.minlen,o.minlen)})}),t}function hn(e){
let t=new z({multigraph:e.isMultigraph()}).setGraph(e.graph());return e.nodes().forEach(n=>{e.children(n).length||t.setNode(n,e.node(n))}),e.edges().forEach(n=>{
t.setEdge(n,e.edge(n))}),t}function Ft(e,t){let n=e.x,r=e.y,o=t.x-n,s=t.y-r,i=e.width/2,a=e.height/2;if(!o&&!s)throw new Error("Not possible to find intersectio\
n inside of the rectangle");let c,l;return o===0||Math.abs(s)*i>Math.abs(o)*a?(s<0&&(a=-a),c=a*o/s,l=a):(o<0&&(i=-i),c=i,l=i*s/o),{x:n+c,y:r+l}}function be(e){let t=ve(
pn(e)+1).map(()=>[]);return e.nodes().forEach(n=>{let r=e.node(n),o=r.rank;o!==void 0&&(t[o]||(t[o]=[]),t[o][r.order]=n)}),t}function Gr(e){let t=e.nodes().map(
r=>{let o=e.node(r).rank;return o===void 0?Number.MAX_VALUE:o}),n=G(Math.min,t);e.nodes().forEach(r=>{let o=e.node(r);Object.hasOwn(o,"rank")&&(o.rank-=n)})}function Xr(e){
let t=e.nodes().map(i=>e.node(i).rank).filter(i=>i!==void 0),n=G(Math.min,t),r=[];e.nodes().forEach(i=>{let a=e.node(i).rank-n;r[a]||(r[a]=[]),r[a].push(i)});let o=0,
s=e.graph().nodeRankFactor;Array.from(r).forEach((i,a)=>{i===void 0&&a%s!==0?--o:i!==void 0&&o&&i.forEach(c=>e.node(c).rank+=o)})}function At(e,t,n,r){let o={width:0,
height:0};return arguments.length>=4&&(o.rank=n,o.order=r),he(e,"border",o,t)}function Kr(e,t=fn){let n=[];for(let r=0;r<e.length;r+=t){let o=e.slice(r,r+t);n.push(
o)}return n}var fn=65535;function G(e,t){if(t.length>fn){let n=Kr(t);return e(...n.map(r=>e(...r)))}else return e(...t)}function pn(e){let t=e.nodes().map(n=>{let r=e.
node(n).rank;return r===void 0?Number.MIN_VALUE:r});return G(Math.max,t)}function Jr(e,t){let n={lhs:[],rhs:[]};return e.forEach(r=>{t(r)?n.lhs.push(r):n.rhs.push(
r)}),n}function Qr(e,t){let n=Date.now();try{return t()}finally{console.log(e+" time: "+(Date.now()-n)+"ms")}}function gn(e,t){return t()}var Zr=0;function st(e){
let t=++Zr;return e+(""+t)}function ve(e,t,n=1){t==null&&(t=e,e=0);let r=s=>s<t;n<0&&(r=s=>t<s);let o=[];for(let s=e;r(s);s+=n)o.push(s);return o}function Le(e,t){
let n={};for(let r of t)e[r]!==void 0&&(n[r]=e[r]);return n}function Re(e,t){let n;return typeof t=="string"?n=r=>r[t]:n=t,Object.entries(e).reduce((r,[o,s])=>(r[o]=
n(s,o),r),{})}function eo(e,t){return e.reduce((n,r,o)=>(n[r]=t[o],n),{})}var De="\0";function _n(e,t,n){var r,o,s,i,a,c;if(!(e&&t&&n&&t.dummy==="edge"&&n.dummy===
"edge"&&t.edgeObj&&n.edgeObj&&e[t.edgeObj.v]&&e[n.edgeObj.v]&&e[t.edgeObj.w]&&e[n.edgeObj.w]))return 0;let l=!0;t.edgeObj.w===n.edgeObj.w&&(l=!1);let d=l?(o=(r=
e[t.edgeObj.v])==null?void 0:r.rank)!=null?o:NaN+1:(i=(s=e[t.edgeObj.w])==null?void 0:s.rank)!=null?i:NaN-1,f=Object.entries(e).find(b=>{var v,y;return((v=b[1].
edgeObj)==null?void 0:v.v)===t.edgeObj.v&&((y=b[1].edgeObj)==null?void 0:y.w)===t.edgeObj.w&&b[1].rank===d}),p=Object.entries(e).find(b=>{var v,y;return((v=b[1].
edgeObj)==null?void 0:v.v)===n.edgeObj.v&&((y=b[1].edgeObj)==null?void 0:y.w)===n.edgeObj.w&&b[1].rank===d});if(!f||!p)return 0;let h=(a=f[1].order)!=null?a:NaN,
g=(c=p[1].order)!=null?c:NaN;return isNaN(h-g)?0:h-g}var to="3.1.3",no=class{constructor(){Er(this,"_sentinel");let e={};e._next=e._prev=e,this._sentinel=e}dequeue(){
let e=this._sentinel,t=e._prev;if(t!==e)return Ht(t),t}enqueue(e){let t=this._sentinel;e._prev&&e._next&&Ht(e),e._next=t._next,t._next._prev=e,t._next=e,e._prev=
t}toString(){let e=[],t=this._sentinel,n=t._prev;for(;n!==t;)e.push(JSON.stringify(n,ro)),n=n._prev;return"["+e.join(", ")+"]"}};function Ht(e){e._prev._next=e.
_next,e._next._prev=e._prev,delete e._next,delete e._prev}function ro(e,t){if(e!=="_next"&&e!=="_prev")return t}var oo=no,so=()=>1;function io(e,t){if(e.nodeCount()<=
1)return[];let n=lo(e,t||so);return ao(n.graph,n.buckets,n.zeroIdx).flatMap(r=>e.outEdges(r.v,r.w)||[])}function ao(e,t,n){var r;let o=[],s=t[t.length-1],i=t[0],
a;for(;e.nodeCount();){for(;a=i.dequeue();)Je(e,t,n,a);for(;a=s.dequeue();)Je(e,t,n,a);if(e.nodeCount()){for(let c=t.length-2;c>0;--c)if(a=(r=t[c])==null?void 0:
r.dequeue(),a){o=o.concat(Je(e,t,n,a,!0)||[]);break}}}return o}function Je(e,t,n,r,o){let s=[],i=o?s:void 0;return(e.inEdges(r.v)||[]).forEach(a=>{let c=e.edge(
a),l=e.node(a.v);o&&s.push({v:a.v,w:a.w}),l.out-=c,nt(t,n,l)}),(e.outEdges(r.v)||[]).forEach(a=>{let c=e.edge(a),l=a.w,d=e.node(l);d.in-=c,nt(t,n,d)}),e.removeNode(
r.v),i}function lo(e,t){let n=new z,r=0,o=0;e.nodes().forEach(a=>{n.setNode(a,{v:a,in:0,out:0})}),e.edges().forEach(a=>{let c=n.edge(a.v,a.w)||0,l=t(a),d=c+l;n.
setEdge(a.v,a.w,d);let f=n.node(a.v),p=n.node(a.w);o=Math.max(o,f.out+=l),r=Math.max(r,p.in+=l)});let s=uo(o+r+3).map(()=>new oo),i=r+1;return n.nodes().forEach(
a=>{nt(s,i,n.node(a))}),{graph:n,buckets:s,zeroIdx:i}}function nt(e,t,n){var r,o,s;n.out?n.in?(s=e[n.out-n.in+t])==null||s.enqueue(n):(o=e[e.length-1])==null||o.
enqueue(n):(r=e[0])==null||r.enqueue(n)}function uo(e){let t=[];for(let n=0;n<e;n++)t.push(n);return t}function co(e,t){(e.graph().acyclicer==="greedy"?io(e,n(e)):
ho(e,t??null)).forEach(r=>{let o=e.edge(r);e.removeEdge(r),o.forwardName=r.name,o.reversed=!0,e.setEdge(r.w,r.v,o,st("rev"))});function n(r){return o=>r.edge(o).
weight}}function ho(e,t){let n=[],r={},o={};function s(c){Object.hasOwn(o,c)||(o[c]=!0,r[c]=!0,e.outEdges(c).forEach(l=>{Object.hasOwn(r,l.w)?n.push(l):s(l.w)}),
delete r[c])}function i(c){var l;Object.hasOwn(o,c)||(o[c]=!0,r[c]=!0,(l=e.outEdges(c))==null||l.forEach(d=>{var f,p;Object.hasOwn(r,d.w)||((f=t.node(c))==null?
void 0:f.rank)>((p=t.node(d.w))==null?void 0:p.rank)&&po(e,d.w,d)?n.push(d):i(d.w)}),delete r[c])}let a=s;return t&&typeof t.node=="function"&&(a=i),e.sources().
forEach(a),e.nodes().forEach(a),n}function fo(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.reversed){e.removeEdge(t);let r=n.forwardName;delete n.reversed,delete n.
forwardName,e.setEdge(t.w,t.v,n,r)}})}function po(e,t,n){let r=new Set;function o(s){var i;if(e.sources().includes(s))return!0;r.add(s);for(let a of(i=e.inEdges(
s))!=null?i:[])if(!(a.v===n.v&&a.w===n.w)&&!r.has(a.v)&&o(a.v))return!0;return!1}return o(t)}function go(e){e.graph().dummyChains=[],e.edges().forEach(t=>_o(e,t))}
function _o(e,t){let n=t.v,r=e.node(n).rank,o=t.w,s=e.node(o).rank,i=t.name,a=e.edge(t),c=a.labelRank;if(s===r+1)return;e.removeEdge(t);let l,d,f;for(f=0,++r;r<
s;++f,++r)a.points=[],d={width:0,height:0,edgeLabel:a,edgeObj:t,rank:r},l=he(e,"edge",d,"_d"),r===c&&(d.width=a.width,d.height=a.height,d.dummy="edge-label",d.labelpos=
a.labelpos),e.setEdge(n,l,{weight:a.weight},i),f===0&&e.graph().dummyChains.push(l),n=l;e.setEdge(n,o,{weight:a.weight},i)}function mo(e){e.graph().dummyChains.
forEach(t=>{let n=e.node(t),r=n.edgeLabel,o;for(e.setEdge(n.edgeObj,r);n.dummy;)o=e.successors(t)[0],e.removeNode(t),r.points.push({x:n.x,y:n.y}),n.dummy==="edg\
e-label"&&(r.x=n.x,r.y=n.y,r.width=n.width,r.height=n.height),t=o,n=e.node(t)})}function it(e){let t={};function n(r){let o=e.node(r);if(Object.hasOwn(t,r))return o.
rank;t[r]=!0;let s=e.outEdges(r),i=s?s.map(c=>c==null?Number.POSITIVE_INFINITY:n(c.w)-e.edge(c).minlen):[],a=G(Math.min,i);return a===Number.POSITIVE_INFINITY&&
(a=0),o.rank=a}e.sources().forEach(n)}function ce(e,t){return e.node(t.w).rank-e.node(t.v).rank-e.edge(t).minlen}var mn=vo;function vo(e){let t=new z({directed:!1}),
n=e.nodes();if(n.length===0)throw new Error("Graph must have at least one node");let r=n[0],o=e.nodeCount();t.setNode(r,{});let s,i;for(;bo(t,e)<o&&(s=wo(t,e),!!s);)
i=t.hasNode(s.v)?ce(e,s):-ce(e,s),yo(t,e,i);return t}function bo(e,t){function n(r){let o=t.nodeEdges(r);o&&o.forEach(s=>{let i=s.v,a=r===i?s.w:i;!e.hasNode(a)&&
!ce(t,s)&&(e.setNode(a,{}),e.setEdge(r,a,{}),n(a))})}return e.nodes().forEach(n),e.nodeCount()}function wo(e,t){return t.edges().reduce((n,r)=>{let o=Number.POSITIVE_INFINITY;
return e.hasNode(r.v)!==e.hasNode(r.w)&&(o=ce(t,r)),o<n[0]?[o,r]:n},[Number.POSITIVE_INFINITY,null])[1]}function yo(e,t,n){e.nodes().forEach(r=>t.node(r).rank+=
n)}var{preorder:Eo,postorder:ko}=ot,xo=ie;ie.initLowLimValues=lt;ie.initCutValues=at;ie.calcCutValue=vn;ie.leaveEdge=wn;ie.enterEdge=yn;ie.exchangeEdges=En;function ie(e){
e=zr(e),it(e);let t=mn(e);lt(t),at(t,e);let n,r;for(;n=wn(t);)r=yn(t,e,n),En(t,e,n,r)}function at(e,t){let n=ko(e,e.nodes());n=n.slice(0,n.length-1),n.forEach(r=>No(
e,t,r))}function No(e,t,n){let r=e.node(n).parent,o=e.edge(n,r);o.cutvalue=vn(e,t,n)}function vn(e,t,n){let r=e.node(n).parent,o=!0,s=t.edge(n,r),i=0;s||(o=!1,s=
t.edge(r,n)),i=s.weight;let a=t.nodeEdges(n);return a&&a.forEach(c=>{let l=c.v===n,d=l?c.w:c.v;if(d!==r){let f=l===o,p=t.edge(c).weight;if(i+=f?p:-p,Co(e,n,d)){
let h=e.edge(n,d).cutvalue;i+=f?-h:h}}}),i}function lt(e,t){arguments.length<2&&(t=e.nodes()[0]),bn(e,{},1,t)}function bn(e,t,n,r,o){let s=n,i=e.node(r);t[r]=!0;
let a=e.neighbors(r);return a&&a.forEach(c=>{Object.hasOwn(t,c)||(n=bn(e,t,n,c,r))}),i.low=s,i.lim=n++,o?i.parent=o:delete i.parent,n}function wn(e){return e.edges().
find(t=>e.edge(t).cutvalue<0)}function yn(e,t,n){let r=n.v,o=n.w;t.hasEdge(r,o)||(r=n.w,o=n.v);let s=e.node(r),i=e.node(o),a=s,c=!1;return s.lim>i.lim&&(a=i,c=!0),
t.edges().filter(l=>c===Bt(e,e.node(l.v),a)&&c!==Bt(e,e.node(l.w),a)).reduce((l,d)=>ce(t,d)<ce(t,l)?d:l)}function En(e,t,n,r){let o=n.v,s=n.w;e.removeEdge(o,s),
e.setEdge(r.v,r.w,{}),lt(e),at(e,t),Oo(e,t)}function Oo(e,t){let n=e.nodes().find(o=>!e.node(o).parent);if(!n)return;let r=Eo(e,[n]);r=r.slice(1),r.forEach(o=>{
let s=e.node(o).parent,i=t.edge(o,s),a=!1;i||(i=t.edge(s,o),a=!0),t.node(o).rank=t.node(s).rank+(a?i.minlen:-i.minlen)})}function Co(e,t,n){return e.hasEdge(t,n)}
function Bt(e,t,n){return n.low<=t.lim&&t.lim<=n.lim}var So=$o;function $o(e){let t=e.graph().ranker;if(typeof t=="function")return t(e);switch(t){case"network-\
simplex":qt(e);break;case"tight-tree":Io(e);break;case"longest-path":jo(e);break;case"none":break;default:qt(e)}}var jo=it;function Io(e){it(e),mn(e)}function qt(e){
xo(e)}var To=Mo;function Mo(e){let t=Lo(e),n=e.graph();Array.isArray(n.dummyChains)&&n.dummyChains.forEach(r=>{let o=e.node(r),s=o.edgeObj,i=Po(e,t,s.v,s.w),a=i.
path,c=i.lca,l=0,d=a[l],f=!0;for(;r!==s.w;){if(o=e.node(r),f){for(;(d=a[l])!==c&&e.node(d).maxRank<o.rank;)l++;d===c&&(f=!1)}if(!f){for(;l<a.length-1&&e.node(a[l+
1]).minRank<=o.rank;)l++;d=a[l]}d!==void 0&&e.setParent(r,d),r=e.successors(r)[0]}})}function Po(e,t,n,r){let o=[],s=[],i=Math.min(t[n].low,t[r].low),a=Math.max(
t[n].lim,t[r].lim),c;c=n;do c=e.parent(c),o.push(c);while(c&&(t[c].low>i||a>t[c].lim));let l=c,d=r;for(;(d=e.parent(d))!==l;)s.push(d);return{path:o.concat(s.reverse()),
lca:l}}function Lo(e){let t={},n=0;function r(o){let s=n;e.children(o).forEach(r),t[o]={low:s,lim:n++}}return e.children(De).forEach(r),t}function Ro(e){let t=he(
e,"root",{},"_root"),n=Do(e),r=Object.values(n),o=G(Math.max,r)-1,s=2*o+1;e.graph().nestingRoot=t,e.edges().forEach(a=>e.edge(a).minlen*=s);let i=Fo(e)+1;e.children(
De).forEach(a=>{kn(e,t,s,i,o,n,a)}),e.graph().nodeRankFactor=s}function kn(e,t,n,r,o,s,i){var a;let c=e.children(i);if(!c.length){i!==t&&e.setEdge(t,i,{weight:0,
minlen:n});return}let l=At(e,"_bt"),d=At(e,"_bb"),f=e.node(i);e.setParent(l,i),f.borderTop=l,e.setParent(d,i),f.borderBottom=d,c.forEach(p=>{var h;kn(e,t,n,r,o,
s,p);let g=e.node(p),b=g.borderTop?g.borderTop:p,v=g.borderBottom?g.borderBottom:p,y=g.borderTop?r:2*r,_=b!==v?1:o-((h=s[i])!=null?h:0)+1;e.setEdge(l,b,{weight:y,
minlen:_,nestingEdge:!0}),e.setEdge(v,d,{weight:y,minlen:_,nestingEdge:!0})}),e.parent(i)||e.setEdge(t,l,{weight:0,minlen:o+((a=s[i])!=null?a:0)})}function Do(e){
let t={};function n(r,o){let s=e.children(r);s&&s.length&&s.forEach(i=>n(i,o+1)),t[r]=o}return e.children(De).forEach(r=>n(r,1)),t}function Fo(e){return e.edges().
reduce((t,n)=>t+e.edge(n).weight,0)}function Ao(e){let t=e.graph();e.removeNode(t.nestingRoot),delete t.nestingRoot,e.edges().forEach(n=>{e.edge(n).nestingEdge&&
e.removeEdge(n)})}var Ho=Bo;function Bo(e){function t(n){let r=e.children(n),o=e.node(n);if(r.length&&r.forEach(t),o&&Object.hasOwn(o,"minRank")){o.borderLeft=[],
o.borderRight=[];for(let s=o.minRank,i=o.maxRank+1;s<i;++s)Wt(e,"borderLeft","_bl",n,o,s),Wt(e,"borderRight","_br",n,o,s)}}e.children(De).forEach(t)}function Wt(e,t,n,r,o,s){
let i={width:0,height:0,rank:s,borderType:t},a=o[t][s-1],c=he(e,"border",i,n);o[t][s]=c,e.setParent(c,r),a&&e.setEdge(a,c,{weight:1})}function qo(e){var t;let n=(t=
e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="lr"||n==="rl")&&xn(e)}function Wo(e){var t;let n=(t=e.graph().rankdir)==null?void 0:t.toLowerCase();(n==="\
bt"||n==="rl")&&Vo(e),(n==="lr"||n==="rl")&&(Uo(e),xn(e))}function xn(e){e.nodes().forEach(t=>Vt(e.node(t))),e.edges().forEach(t=>Vt(e.edge(t)))}function Vt(e){
let t=e.width;e.width=e.height,e.height=t}function Vo(e){e.nodes().forEach(t=>Qe(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==null||n.forEach(
Qe),Object.hasOwn(r,"y")&&Qe(r)})}function Qe(e){e.y=-e.y}function Uo(e){e.nodes().forEach(t=>Ze(e.node(t))),e.edges().forEach(t=>{var n;let r=e.edge(t);(n=r.points)==
null||n.forEach(Ze),Object.hasOwn(r,"x")&&Ze(r)})}function Ze(e){let t=e.x;e.x=e.y,e.y=t}function Yo(e,t=null){let n={},r=e.nodes().filter(l=>!e.children(l).length),
o=r.map(l=>e.node(l).rank),s=G(Math.max,o),i=ve(s+1).map(()=>[]);function a(l){if(n[l])return;n[l]=!0;let d=e.node(l);i[d.rank].push(l);let f=e.successors(l);f&&
[...f].sort((p,h)=>c(p,h)).forEach(a)}r.sort((l,d)=>e.node(l).rank-e.node(d).rank).forEach(a);function c(l,d){let f=e.node(l),p=e.node(d);return _n(t,f,p)}return i}
function zo(e,t){let n=0;for(let r=1;r<t.length;++r)n+=Go(e,t[r-1],t[r]);return n}function Go(e,t,n){let r=eo(n,n.map((l,d)=>d)),o=t.flatMap(l=>{let d=e.outEdges(
l);return d?d.map(f=>({pos:r[f.w],weight:e.edge(f).weight})).sort((f,p)=>f.pos-p.pos):[]}),s=1;for(;s<n.length;)s<<=1;let i=2*s-1;s-=1;let a=new Array(i).fill(0),
c=0;return o.forEach(l=>{let d=l.pos+s;a[d]+=l.weight;let f=0;for(;d>0;)d%2&&(f+=a[d+1]),d=d-1>>1,a[d]+=l.weight;c+=l.weight*f}),c}function Xo(e,t=[]){return t.
map(n=>{let r=e.inEdges(n);if(!r||!r.length)return{v:n};{let o=r.reduce((s,i)=>{let a=e.edge(i),c=e.node(i.v);return{sum:s.sum+a.weight*c.order,weight:s.weight+
a.weight}},{sum:0,weight:0});return{v:n,barycenter:o.sum/o.weight,weight:o.weight}}})}function Ko(e,t){let n={};e.forEach((o,s)=>{let i={indegree:0,in:[],out:[],
vs:[o.v],i:s};o.barycenter!==void 0&&(i.barycenter=o.barycenter,i.weight=o.weight),n[o.v]=i}),t.edges().forEach(o=>{let s=n[o.v],i=n[o.w];s!==void 0&&i!==void 0&&
(i.indegree++,s.out.push(i))});let r=Object.values(n).filter(o=>!o.indegree);return Jo(r)}function Jo(e){let t=[];function n(o){return s=>{s.merged||(s.barycenter===
void 0||o.barycenter===void 0||s.barycenter>=o.barycenter)&&Qo(o,s)}}function r(o){return s=>{s.in.push(o),--s.indegree===0&&e.push(s)}}for(;e.length;){let o=e.
pop();t.push(o),o.in.reverse().forEach(n(o)),o.out.forEach(r(o))}return t.filter(o=>!o.merged).map(o=>Le(o,["vs","i","barycenter","weight"]))}function Qo(e,t){let n=0,
r=0;e.weight&&(n+=e.barycenter*e.weight,r+=e.weight),t.weight&&(n+=t.barycenter*t.weight,r+=t.weight),e.vs=t.vs.concat(e.vs),e.barycenter=n/r,e.weight=r,e.i=Math.
min(t.i,e.i),t.merged=!0}function Zo(e,t,n,r,o){let s={},i=null,a=null,c=o;typeof t=="boolean"?(c=t,s={}):t&&(s=t,i=n??null,a=r??null);let l=Jr(e,y=>Object.hasOwn(
y,"barycenter")),d=l.lhs,f=l.rhs.sort((y,_)=>_.i-y.i),p=[],h=0,g=0,b=0;d.sort(es(a,i,!!c));for(let[y,_]of Object.entries(s)){let w=d.findIndex(m=>m.vs[0]===y);d.
splice(w+1,0,_)}b=Ut(p,f,b),d.forEach(y=>{b+=y.vs.length,p.push(y.vs),h+=y.barycenter*y.weight,g+=y.weight,b=Ut(p,f,b)});let v={vs:p.flat(1)};return g&&(v.barycenter=
h/g,v.weight=g),v}function Ut(e,t,n){let r;for(;t.length&&(r=t[t.length-1]).i<=n;)t.pop(),e.push(r.vs),n++;return n}function es(e,t,n){return(r,o)=>{if(r.barycenter<
o.barycenter)return-1;if(r.barycenter>o.barycenter)return 1;if(e&&(typeof r.vs[0]=="string"||typeof o.vs[0]=="string")){let s=e.node(r.vs[0]),i=e.node(o.vs[0]),
a=_n(t,s,i);if(a!==0)return a}return n?o.i-r.i:r.i-o.i}}function Nn(e,t,n,r,o){var s,i,a,c,l,d,f,p,h,g,b;let v=null,y=o;typeof r=="boolean"?(y=r,v=null):r!==void 0&&
(v=r);let _=e.children(t),w=e.node(t),m=w?w.borderLeft:void 0,E=w?w.borderRight:void 0,$={};m&&(_=_.filter(x=>x!==m&&x!==E));let L=Xo(e,_);L.forEach(x=>{if(e.children(
x.v).length){let{result:N}=Nn(e,x.v,n,v,y);$[x.v]=N,Object.hasOwn(N,"barycenter")&&ns(x,N)}});let k=Ko(L,n);ts(k,$);let P={},R=!1;for(let x=0;x<k.length;x++)for(let N=x+
1;N<k.length;N++)if(!(!k[x]||!k[N]||!((s=k[x])!=null&&s.barycenter)||!((i=k[N])!=null&&i.barycenter))&&((a=k[x])==null?void 0:a.barycenter)===k[N].barycenter){let S=(l=
(c=k[x])==null?void 0:c.vs[0])!=null?l:"",O=(f=(d=k[N])==null?void 0:d.vs[0])!=null?f:"",D=e.node(S),ue=e.node(O);if(D.dummy==="edge"&&ue.dummy==="edge"&&((p=D.
edgeObj)==null?void 0:p.v)===((h=ue.edgeObj)==null?void 0:h.v)&&((g=D.edgeObj)==null?void 0:g.w)===((b=ue.edgeObj)==null?void 0:b.w))if(D.edgeLabel.reversed){P[O]=
k[x],k.splice(x,1),x--;break}else P[S]||(P[S]=k[N],k.splice(N,1),N--);else R=!0}let C=Zo(k,P,v,e,y);if(m&&E){C.vs=[m,C.vs,E].flat(1);let x=e.predecessors(m);if(x&&
x.length){let N=e.node(x[0]),S=e.predecessors(E),O=e.node(S[0]);Object.hasOwn(C,"barycenter")||(C.barycenter=0,C.weight=0),C.barycenter=(C.barycenter*C.weight+N.
order+O.order)/(C.weight+2),C.weight+=2}}return Object.defineProperty(C,"result",{value:C,enumerable:!1,configurable:!0,writable:!0}),Object.defineProperty(C,"u\
sedBias",{value:R,enumerable:!1,configurable:!0,writable:!0}),C}function ts(e,t){e.forEach(n=>{n.vs=n.vs.flatMap(r=>t[r]?t[r].vs:r)})}function ns(e,t){e.barycenter!==
void 0?(e.barycenter=(e.barycenter*e.weight+t.barycenter*t.weight)/(e.weight+t.weight),e.weight+=t.weight):(e.barycenter=t.barycenter,e.weight=t.weight)}function rs(e,t,n,r){
r||(r=e.nodes());let o=os(e),s=new z({compound:!0}).setGraph({root:o}).setDefaultNodeLabel(i=>e.node(i));return r.forEach(i=>{let a=e.node(i),c=e.parent(i);if(a.
rank===t||a.minRank<=t&&t<=a.maxRank){s.setNode(i),s.setParent(i,c||o);let l=e[n](i);l&&l.forEach(d=>{let f=d.v===i?d.w:d.v,p=s.edge(f,i),h=p!==void 0?p.weight:
0;s.setEdge(f,i,{weight:e.edge(d).weight+h})}),Object.hasOwn(a,"minRank")&&s.setNode(i,{borderLeft:a.borderLeft[t],borderRight:a.borderRight[t]})}}),s}function os(e){
let t;for(;e.hasNode(t=st("_root")););return t}function ss(e,t,n){let r={},o;n.forEach(s=>{let i=e.parent(s),a,c;for(;i;){if(a=e.parent(i),a?(c=r[a],r[a]=i):(c=
o,o=i),c&&c!==i){t.setEdge(c,i);return}i=a}})}function On(e,t={},n=null){if(typeof t.customOrder=="function"){t.customOrder(e,On);return}let r=pn(e),o=Yt(e,ve(1,
r+1),"inEdges"),s=Yt(e,ve(r-1,-1,-1),"outEdges"),i=Yo(e,n);if(zt(e,i),t.disableOptimalOrderHeuristic)return;let a=Number.POSITIVE_INFINITY,c,l=t.constraints||[];
for(let d=0,f=0;f<4;++d,++f){is(d%2?o:s,d%4>=2,l,n),i=be(e);let p=zo(e,i);p<a?(f=0,c=Object.assign({},i),a=p):p===a&&(c=structuredClone(i))}zt(e,c)}function Yt(e,t,n){
let r=new Map,o=(s,i)=>{r.has(s)||r.set(s,[]),r.get(s).push(i)};for(let s of e.nodes()){let i=e.node(s);if(typeof i.rank=="number"&&o(i.rank,s),typeof i.minRank==
"number"&&typeof i.maxRank=="number")for(let a=i.minRank;a<=i.maxRank;a++)a!==i.rank&&o(a,s)}return t.map(function(s){return rs(e,s,n,r.get(s)||[])})}function is(e,t,n,r){
let o=!0,s=new z;e.forEach(function(i){n.forEach(d=>s.setEdge(d.left,d.right));let a=i.graph().root,{result:c,usedBias:l}=Nn(i,a,s,r,o);t&&l&&(o=!o),c.vs.forEach(
(d,f)=>i.node(d).order=f),ss(i,s,c.vs)})}function zt(e,t){Object.values(t).forEach(n=>n.forEach((r,o)=>e.node(r).order=o))}function as(e,t){let n={};function r(o,s){
let i=0,a=0,c=o.length,l=s[s.length-1];return s.forEach((d,f)=>{let p=ds(e,d),h=p?e.node(p).order:c;(p||d===l)&&(s.slice(a,f+1).forEach(g=>{let b=e.predecessors(
g);b&&b.forEach(v=>{let y=e.node(v),_=y.order;(_<i||h<_)&&!(y.dummy&&e.node(g).dummy)&&Cn(n,v,g)})}),a=f+1,i=h)}),s}return t.length&&t.reduce(r),n}function ls(e,t){
let n={};function r(i){var a;return((a=e.node(i))==null?void 0:a.dummy)==="border"}if(!e.nodes().some(r))return n;function o(i,a,c,l,d){ve(a,c).forEach(f=>{let p=i[f];
if(p!==void 0&&e.node(p).dummy){let h=e.predecessors(p);h&&h.forEach(g=>{if(g===void 0)return;let b=e.node(g);b.dummy&&(b.order<l||b.order>d)&&Cn(n,g,p)})}})}function s(i,a){
let c=-1,l=-1,d=0;return a.forEach((f,p)=>{if(r(f)){let h=e.predecessors(f);if(h&&h.length){let g=h[0];if(g===void 0)return;l=e.node(g).order,o(a,d,p,c,l),d=p,c=
l}}o(a,d,a.length,l,i.length)}),a}return t.length&&t.reduce(s),n}function ds(e,t){if(e.node(t).dummy){let n=e.predecessors(t);if(n)return n.find(r=>e.node(r).dummy)}}
function Cn(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];r||(e[t]=r={}),r[n]=!0}function us(e,t,n){if(t>n){let o=t;t=n,n=o}let r=e[t];return r!==void 0&&Object.hasOwn(
r,n)}function cs(e,t,n,r,o){let s={},i={},a={};return t.forEach(c=>{c.forEach((l,d)=>{s[l]=l,i[l]=l,a[l]=d})}),t.forEach(c=>{let l=-1,d=-1,f=!1,p=c,h=c.findIndex(
g=>o?.includes(g)||Gt(g,e,o));h>0&&(p=[c[h],...c.slice(0,h),...c.slice(h+1)],f=!0),p.forEach(g=>{var b;let v=r(g);if(v&&v.length){o!=null&&o.includes(g)&&(v=v.filter(
w=>Gt(w,e,o)));let y=v.sort((w,m)=>{let E=a[w],$=a[m];return(E!==void 0?E:0)-($!==void 0?$:0)}),_=(y.length-1)/2;for(let w=Math.floor(_),m=Math.ceil(_);w<=m;++w){
let E=y[w];if(E===void 0)continue;let $=a[E];if($!==void 0&&i[g]===g&&l<$&&a[E]!==d&&!us(n,g,E)){let L=s[E];L!==void 0&&(i[E]=g,i[g]=s[g]=L,l=$,f&&(l=-1,d=(b=a[E])!=
null?b:-1,f=!1))}}}})}),{root:s,align:i}}function hs(e,t,n,r,o=!1){let s={},i=fs(e,t,n,o),a=o?"borderLeft":"borderRight";function c(h,g){let b=i.nodes().slice(),
v={},y=b.pop();for(;y;){if(v[y])h(y);else{v[y]=!0,b.push(y);for(let _ of g(y))b.push(_)}y=b.pop()}}function l(h){let g=i.inEdges(h);g?s[h]=g.reduce((b,v)=>{var y;
let _=(y=s[v.v])!=null?y:0,w=i.edge(v);return Math.max(b,_+(w!==void 0?w:0))},0):s[h]=0}function d(h){let g=i.outEdges(h),b=Number.POSITIVE_INFINITY;g&&(b=g.reduce(
(y,_)=>{let w=s[_.w],m=i.edge(_);return Math.min(y,(w!==void 0?w:0)-(m!==void 0?m:0))},Number.POSITIVE_INFINITY));let v=e.node(h);b!==Number.POSITIVE_INFINITY&&
v.borderType!==a&&(s[h]=Math.max(s[h]!==void 0?s[h]:0,b))}function f(h){return i.predecessors(h)||[]}function p(h){return i.successors(h)||[]}return c(l,f),c(d,
p),Object.keys(r).forEach(h=>{var g;let b=n[h];b!==void 0&&(s[h]=(g=s[b])!=null?g:0)}),s}function fs(e,t,n,r){let o=new z,s=e.graph(),i=vs(s.nodesep,s.edgesep,r);
return t.forEach(a=>{let c;a.forEach(l=>{let d=n[l];if(d!==void 0){if(o.setNode(d),c!==void 0){let f=n[c];if(f!==void 0){let p=o.edge(f,d);o.setEdge(f,d,Math.max(
i(e,l,c),p||0))}}c=l}})}),o}function ps(e,t){return Object.values(t).reduce((n,r)=>{let o=Number.NEGATIVE_INFINITY,s=Number.POSITIVE_INFINITY;Object.entries(r).
forEach(([a,c])=>{let l=bs(e,a)/2;o=Math.max(c+l,o),s=Math.min(c-l,s)});let i=o-s;return i<n[0]&&(n=[i,r]),n},[Number.POSITIVE_INFINITY,null])[1]}function gs(e,t){
let n=Object.values(t),r=G(Math.min,n),o=G(Math.max,n);["u","d"].forEach(s=>{["l","r"].forEach(i=>{let a=s+i,c=e[a];if(!c||c===t)return;let l=Object.values(c),d=r-
G(Math.min,l);i!=="l"&&(d=o-G(Math.max,l)),d&&(e[a]=Re(c,f=>f+d))})})}function _s(e,t=void 0){let n=e.ul;return n?Re(n,(r,o)=>{var s,i;if(t){let c=t.toLowerCase(),
l=e[c];if(l&&l[o]!==void 0)return l[o]}let a=Object.values(e).map(c=>{let l=c[o];return l!==void 0?l:0}).sort((c,l)=>c-l);return(((s=a[1])!=null?s:0)+((i=a[2])!=
null?i:0))/2}):{}}function ms(e,t){let n=be(e),r=Object.assign(as(e,n),ls(e,n)),o={},s;["u","d"].forEach(a=>{s=a==="u"?n:Object.values(n).reverse(),["l","r"].forEach(
c=>{c==="r"&&(s=s.map(f=>Object.values(f).reverse()));let l=cs(e,s,r,f=>(a==="u"?e.predecessors(f):e.successors(f))||[],t),d=hs(e,s,l.root,l.align,c==="r");c===
"r"&&(d=Re(d,f=>-f)),o[a+c]=d})});let i=ps(e,o);return gs(o,i),_s(o,e.graph().align)}function vs(e,t,n){return(r,o,s)=>{let i=r.node(o),a=r.node(s),c=0,l;if(c+=
i.width/2,Object.hasOwn(i,"labelpos"))switch(i.labelpos.toLowerCase()){case"l":l=-i.width/2;break;case"r":l=i.width/2;break}if(l&&(c+=n?l:-l),l=void 0,c+=(i.dummy?
t:e)/2,c+=(a.dummy?t:e)/2,c+=a.width/2,Object.hasOwn(a,"labelpos"))switch(a.labelpos.toLowerCase()){case"l":l=a.width/2;break;case"r":l=-a.width/2;break}return l&&
(c+=n?l:-l),c}}function bs(e,t){return e.node(t).width}function Gt(e,t,n){var r;if(!n)return!1;let o=(r=t.node(e))==null?void 0:r.edgeObj;if(!o||t.node(e).edgeLabel.
reversed)return!1;let s=n.indexOf(o?.v),i=n.indexOf(o?.w);return s!==-1&&i!==-1&&s===(i+1)%n.length||s===(i-1)%n.length}function ws(e,t){e=hn(e),ys(e),Object.entries(
ms(e,t)).forEach(([n,r])=>e.node(n).x=r)}function ys(e){let t=be(e),n=e.graph(),r=n.ranksep,o=n.rankalign,s=0;t.forEach(i=>{let a=i.reduce((c,l)=>{var d;let f=(d=
e.node(l).height)!=null?d:0;return c>f?c:f},0);i.forEach(c=>{let l=e.node(c);o==="top"?l.y=s+l.height/2:o==="bottom"?l.y=s+a-l.height/2:l.y=s+a/2}),s+=a+r})}var Xt=new WeakMap;
function Es(e,t={}){return Sn(e,gn,t),e}function Kt(e,t,n){let r=t;for(;r!==void 0;){let o=e.parent(r);if(o===n)return r;r=o}}function Sn(e,t,n){var r;let o=e.nodes().
filter(_=>e.children(_).length),s={};o.forEach(_=>{let w=e.node(_);if(w&&w.rankdir){let m=new z({multigraph:!0,compound:!0});m.setGraph({rankdir:w.rankdir});let E=e.
children(_);E.forEach(S=>{let O={...e.node(S)};m.setNode(S,O);let D=e.parent(S);D&&D!==_&&E.includes(D)&&m.setParent(S,D)});let $=new Set;e.edges().forEach(S=>{
let O=Kt(e,S.v,_),D=Kt(e,S.w,_);if(O===S.v&&D===S.w)m.setEdge(S,{...e.edge(S)});else if(O&&D&&O!==D){let ue=`${O}\0${D}`;$.has(ue)||($.add(ue),m.setEdge(O,D,{...e.
edge(S)}))}}),Sn(m,t,n);let L=tn(m);Qt(L,t,n,null),Zt(m,L);let k=1/0,P=1/0,R=-1/0,C=-1/0;m.nodes().forEach(S=>{if(S===_)return;let O=m.node(S);O&&typeof O.x=="n\
umber"&&typeof O.y=="number"&&typeof O.width=="number"&&typeof O.height=="number"&&(k=Math.min(k,O.x-O.width/2),R=Math.max(R,O.x+O.width/2),P=Math.min(P,O.y-O.height/
2),C=Math.max(C,O.y+O.height/2))}),(!isFinite(k)||!isFinite(P)||!isFinite(R)||!isFinite(C))&&(k=P=0,R=C=0);let x=R-k,N=C-P;s[_]={minX:k,minY:P,maxX:R,maxY:C,width:x,
height:N,offsetX:k,offsetY:P},w._dagreClusterSubgraph=m}});let i=[],a=_=>{let w=[],m=(e.children(_)||[]).filter(E=>E!==_);for(;m.length>0;){let E=m.shift();w.push(
E),(e.children(E)||[]).filter($=>$!==E).forEach($=>m.push($))}return w},c=new Map;o.forEach(_=>{let w=e.node(_);w&&w.rankdir&&s[_]&&c.set(_,(e.children(_)||[]).
filter(m=>m!==_))});let l=new Set([...c.values()].flat()),d=new Map;c.forEach((_,w)=>{l.has(w)||d.set(w,a(w))});let f=new Set([...d.values()].flat()),p=_=>{for(let[
w,m]of d)if(m.includes(_))return w;return _},h=[];e.edges().forEach(_=>{(f.has(_.v)||f.has(_.w))&&h.push({edge:_,label:e.edge(_)})});let g=new Map;f.forEach(_=>{
let w=e.parent(_);g.set(_,typeof w=="string"?w:void 0)}),d.forEach((_,w)=>{let m=e.node(w),E=[];_.forEach(k=>{let P=e.node(k);P&&(E.push({id:k,node:P,parent:g.get(
k)}),e.removeNode(k))});let $=h.filter(({edge:k})=>_.includes(k.v)||_.includes(k.w)),L=s[w];m&&(i.push({clusterId:w,subgraph:m._dagreClusterSubgraph,bounds:L,children:_,
removedNodes:E,removedEdges:$}),m.width=L.width,m.height=L.height)});let b=new Set;h.forEach(({edge:_,label:w})=>{let m=p(_.v),E=p(_.w);if(m!==E&&e.hasNode(m)&&
e.hasNode(E)){let $=`${m}\0${E}`;b.has($)||(b.add($),e.setEdge(m,E,{...w,width:0,height:0}))}});let v=tn(e),y=Qt(v,t,n,(r=Xt.get(e))!=null?r:null);Xt.set(e,y),Zt(
e,v),b.forEach(_=>{let w=_.indexOf("\0"),m=_.slice(0,w),E=_.slice(w+1);e.hasEdge(m,E)&&e.removeEdge(m,E)}),i.forEach(({clusterId:_,subgraph:w,bounds:m,removedNodes:E,
removedEdges:$})=>{var L,k;let P=e.node(_),R=(L=P?.x)!=null?L:0,C=(k=P?.y)!=null?k:0,x=(m.minX+m.maxX)/2,N=(m.minY+m.maxY)/2;E.forEach(({id:S,node:O,parent:D})=>{
e.setNode(S,O),D!==void 0&&e.setParent(S,D)}),$.forEach(({edge:S,label:O})=>{e.setEdge(S,O)}),w.nodes().forEach(S=>{if(S===_)return;let O=w.node(S),D=e.node(S);
D&&O&&typeof O.x=="number"&&typeof O.y=="number"&&(D.x=R+(O.x-x),D.y=C+(O.y-N))}),Jt(e,w,R-x,C-N),delete P._dagreClusterSubgraph}),o.forEach(_=>{var w,m;let E=e.
node(_),$=s[_];if(E&&E.rankdir&&E._dagreClusterSubgraph&&$){let L=E._dagreClusterSubgraph,k=(w=E.x)!=null?w:0,P=(m=E.y)!=null?m:0,R=($.minX+$.maxX)/2,C=($.minY+
$.maxY)/2;L.nodes().forEach(x=>{if(x===_)return;let N=L.node(x),S=e.node(x);if(S&&N&&typeof N.x=="number"&&typeof N.y=="number"){let O=N.x-R,D=N.y-C;S.x=k+O,S.y=
P+D}}),Jt(e,L,k-R,P-C),delete E._dagreClusterSubgraph}})}function Jt(e,t,n,r){t.edges().forEach(o=>{if(!e.hasEdge(o))return;let s=t.edge(o),i=e.edge(o);i.points=
s.points.map(a=>({x:a.x+n,y:a.y+r})),Object.hasOwn(s,"x")&&(i.x=s.x+n,i.y=s.y+r)})}function Qt(e,t,n,r=null){var o,s;let i=n?.useDynamic!==!1,a=i&&(o=r?.graph)!=
null?o:null,c=i&&(s=r?.rawNodes)!=null?s:null;t("    makeSpaceForEdgeLabels",()=>js(e)),t("    removeSelfEdges",()=>As(e)),t("    acyclic",()=>co(e,a)),t("    n\
estingGraph.run",()=>Ro(e)),t("    rank",()=>So(hn(e))),t("    injectEdgeLabelProxies",()=>Is(e)),t("    removeEmptyRanks",()=>Xr(e)),t("    nestingGraph.cleanu\
p",()=>Ao(e)),t("    normalizeRanks",()=>Gr(e)),t("    assignRankMinMax",()=>Ts(e)),t("    removeEdgeLabelProxies",()=>Ms(e)),t("    normalize.run",()=>go(e)),t(
"    parentDummyChains",()=>To(e)),t("    addBorderSegments",()=>Ho(e)),t("    order",()=>On(e,n,c)),t("    insertSelfEdges",()=>Hs(e)),t("    adjustCoordinateS\
ystem",()=>qo(e)),t("    position",()=>ws(e,n.corePath)),t("    positionSelfEdges",()=>Bs(e));let l=JSON.parse(JSON.stringify(e._nodes));return t("    removeBor\
derNodes",()=>Fs(e)),t("    normalize.undo",()=>mo(e)),t("    fixupEdgeLabelCoords",()=>Rs(e)),t("    undoCoordinateSystem",()=>Wo(e)),t("    translateGraph",()=>Ps(
e)),t("    assignNodeIntersects",()=>Ls(e)),t("    reversePoints",()=>Ds(e)),t("    acyclic.undo",()=>fo(e)),{graph:e,rawNodes:l}}function Zt(e,t){e.nodes().forEach(
n=>{let r=e.node(n),o=t.node(n);r&&(r.x=o.x,r.y=o.y,r.order=o.order,r.rank=o.rank,t.children(n).length&&(r.width=o.width,r.height=o.height))}),e.edges().forEach(
n=>{let r=e.edge(n),o=t.edge(n);r.points=o.points,Object.hasOwn(o,"x")&&(r.x=o.x,r.y=o.y)}),e.graph().width=t.graph().width,e.graph().height=t.graph().height}var ks=[
"nodesep","edgesep","ranksep","marginx","marginy"],xs={ranksep:50,edgesep:20,nodesep:50,rankdir:"TB",rankalign:"center"},Ns=["acyclicer","ranker","rankdir","ali\
gn","rankalign"],Os=["width","height","rank"],en={width:0,height:0},Cs=["minlen","weight","width","height","labeloffset"],Ss={minlen:1,weight:1,width:0,height:0,
labeloffset:10,labelpos:"r"},$s=["labelpos"];function tn(e){let t=new z({multigraph:!0,compound:!0}),n=tt(e.graph());return t.setGraph(Object.assign({},xs,et(n,
ks),Le(n,Ns))),e.nodes().forEach(r=>{let o=tt(e.node(r)),s=et(o,Os);Object.keys(en).forEach(a=>{s[a]===void 0&&(s[a]=en[a])}),t.setNode(r,s);let i=e.parent(r);i!==
void 0&&t.setParent(r,i)}),e.edges().forEach(r=>{let o=tt(e.edge(r));t.setEdge(r,Object.assign({},Ss,et(o,Cs),Le(o,$s)))}),t}function js(e){let t=e.graph();t.ranksep/=
2,e.edges().forEach(n=>{var r;let o=e.edge(n);o.minlen*=2,((r=o.labelpos)!=null?r:"r").toLowerCase()!=="c"&&(t.rankdir==="TB"||t.rankdir==="BT"?o.width+=o.labeloffset:
o.height+=o.labeloffset)})}function Is(e){e.edges().forEach(t=>{let n=e.edge(t);if(n.width&&n.height){let r=e.node(t.v),o={rank:(e.node(t.w).rank-r.rank)/2+r.rank,
e:t};he(e,"edge-proxy",o,"_ep")}})}function Ts(e){let t=0;e.nodes().forEach(n=>{let r=e.node(n);r.borderTop&&(r.minRank=e.node(r.borderTop).rank,r.maxRank=e.node(
r.borderBottom).rank,t=Math.max(t,r.maxRank))}),e.graph().maxRank=t}function Ms(e){e.nodes().forEach(t=>{let n=e.node(t);if(n.dummy==="edge-proxy"){let r=n;e.edge(
r.e).labelRank=n.rank,e.removeNode(t)}})}function Ps(e){let t=Number.POSITIVE_INFINITY,n=0,r=Number.POSITIVE_INFINITY,o=0,s=e.graph(),i=s.marginx||0,a=s.marginy||
0;function c(l){let d=l.x,f=l.y,p=l.width,h=l.height;t=Math.min(t,d-p/2),n=Math.max(n,d+p/2),r=Math.min(r,f-h/2),o=Math.max(o,f+h/2)}e.nodes().forEach(l=>c(e.node(
l))),e.edges().forEach(l=>{let d=e.edge(l);Object.hasOwn(d,"x")&&c(d)}),t-=i,r-=a,e.nodes().forEach(l=>{let d=e.node(l);d.x-=t,d.y-=r}),e.edges().forEach(l=>{let d=e.
edge(l);d.points.forEach(f=>{f.x-=t,f.y-=r}),Object.hasOwn(d,"x")&&(d.x-=t),Object.hasOwn(d,"y")&&(d.y-=r)}),s.width=n-t+i,s.height=o-r+a}function Ls(e){e.edges().
forEach(t=>{if(t.v===t.w)return;let n=e.edge(t),r=e.node(t.v),o=e.node(t.w),s,i;n.points?(s=n.points[0],i=n.points[n.points.length-1]):(n.points=[],s=o,i=r),n.points.
unshift(Ft(r,s)),n.points.push(Ft(o,i))})}function Rs(e){e.edges().forEach(t=>{let n=e.edge(t);if(Object.hasOwn(n,"x"))switch((n.labelpos==="l"||n.labelpos==="r")&&
(n.width-=n.labeloffset),n.labelpos){case"l":n.x-=n.width/2+n.labeloffset;break;case"r":n.x+=n.width/2+n.labeloffset;break}})}function Ds(e){e.edges().forEach(t=>{
let n=e.edge(t);n.reversed&&n.points.reverse()})}function Fs(e){e.nodes().forEach(t=>{if(e.children(t).length){let n=e.node(t),r=e.node(n.borderTop),o=e.node(n.
borderBottom),s=e.node(n.borderLeft[n.borderLeft.length-1]),i=e.node(n.borderRight[n.borderRight.length-1]);n.width=Math.abs(i.x-s.x),n.height=Math.abs(o.y-r.y),
n.x=s.x+n.width/2,n.y=r.y+n.height/2}}),e.nodes().forEach(t=>{e.node(t).dummy==="border"&&e.removeNode(t)})}function As(e){e.edges().forEach(t=>{if(t.v===t.w){let n=e.
node(t.v);n.selfEdges||(n.selfEdges=[]),n.selfEdges.push({e:t,label:e.edge(t)}),e.removeEdge(t)}})}function Hs(e){be(e).forEach(t=>{let n=0;t.forEach((r,o)=>{let s=e.
node(r);typeof s.rank!="number"&&(s.rank=0),s.order=o+n,(s.selfEdges||[]).forEach(i=>{he(e,"selfedge",{width:i.label.width,height:i.label.height,rank:s.rank,order:o+
++n,e:i.e,edgeLabel:i.label},"_se"),(!Array.isArray(i.label.points)||i.label.points.length!==7)&&(i.label.points=[{x:0,y:-10},{x:0,y:-10},{x:0,y:0},{x:0,y:10},{
x:0,y:10},{x:0,y:0},{x:0,y:0}])}),delete s.selfEdges})})}function Bs(e){e.nodes().forEach(t=>{let n=e.node(t),r=o=>typeof o=="number"&&isFinite(o);if(n.dummy===
"selfedge"){let o=n,s=e.node(o.e.v),i=r(s?.x)?s.x:0,a=r(s?.y)?s.y:0,c=r(s?.width)?s.width:0,l=r(s?.height)?s.height:0,d=r(n.x)?n.x:i,f=r(n.y)?n.y:a,p=c/2,h=l/2;
o.edgeLabel.points=[{x:d+p,y:f-h},{x:d+p,y:f-h},{x:d,y:f},{x:d-p,y:f+h},{x:d-p,y:f+h},{x:d,y:f},{x:d,y:f}],o.edgeLabel.x=d,o.edgeLabel.y=f,e.setEdge(o.e,o.edgeLabel),
e.removeNode(t)}else n&&Array.isArray(n.selfEdges)&&n.selfEdges.forEach(o=>{if(!Array.isArray(o.label.points)||o.label.points.length!==7){let s=r(n.x)?n.x:0,i=r(
n.y)?n.y:0,a=r(n.width)?n.width:0,c=r(n.height)?n.height:0,l=a/2,d=c/2;o.label.points=[{x:s+l,y:i-d},{x:s+l,y:i-d},{x:s,y:i},{x:s-l,y:i+d},{x:s-l,y:i+d},{x:s,y:i},
{x:s,y:i}]}})})}function et(e,t){return Re(Le(e,t),Number)}function tt(e){let t={};return e&&Object.entries(e).forEach(([n,r])=>{typeof n=="string"&&(n=n.toLowerCase()),
t[n]=r}),t}function qs(e){let t=be(e),n=new z({compound:!0,multigraph:!0}).setGraph({});return e.nodes().forEach(r=>{n.setNode(r,{label:r}),n.setParent(r,"layer"+
e.node(r).rank)}),e.edges().forEach(r=>n.setEdge(r.v,r.w,{},r.name)),t.forEach((r,o)=>{let s="layer"+o;n.setNode(s,{rank:"same"}),r.reduce((i,a)=>(n.setEdge(i,a,
{style:"invis"}),a))}),n}var Ws={graphlib:rn,version:to,layout:Es,debug:qs,util:{time:Qr,notime:gn}},dt=Ws;var ye,H,ut,$n,ct=Object.is,Fe=0,Fn=[],ht=[],A=T,jn=A.__b,In=A.__r,Tn=A.diffed,Mn=A.__c,Pn=A.unmount,Ln=A.__;function pt(e,t){A.__h&&A.__h(H,e,Fe||t),Fe=0;var n=H.
__H||(H.__H={__:[],__h:[]});return e>=n.__.length&&n.__.push({}),n.__[e]}function q(e){return Fe=1,Vs(Hn,e)}function Vs(e,t,n){var r=pt(ye++,2);if(r.t=e,!r.__c&&
(r.__=[n?n(t):Hn(void 0,t),function(s){var i=(r.__N||r.__)[0],a=r.t(i,s);ct(i,a)||(r.__N=[a,r.__[1]],r.__c.setState({}))}],r.__c=H,!H.__f)){H.__f=!0;var o=H.shouldComponentUpdate;
H.shouldComponentUpdate=function(s,i,a){var c=this.__H;if(!c)return!0;var l=!1,d=this.props!=s;if(c.__.some(function(p){p.__N&&(l=!0,ct(p.__[0],p.__N[0])||(d=!0))}),
o){var f=o.call(this,s,i,a);return l?f||d:f}return!l||d}}return r.__}function X(e,t){var n=pt(ye++,3);!A.__s&&An(n.__H,t)&&(n.__P=!0,n.__=e,n.u=t,H.__H.__h.push(
n))}function Ee(e){return Fe=5,fe(function(){return{current:e}},[])}function fe(e,t){var n=pt(ye++,7);return An(n.__H,t)&&(n.__=e(),n.__H=t),n.__}function Us(){var e;do{for(;e=ht.shift();)try{we(e)}catch(n){A.__e(n,{__:(e=e.__P)&&e.__v})}for(;e=Fn.shift();){var t=e.__H;if(e.__P&&t)try{t.__h.some(we),t.__h.
some(ft),t.__h=[]}catch(n){t.__h=[],A.__e(n,e.__v)}}}while(ht.length)}A.__b=function(e){H=null,jn&&jn(e)},A.__=function(e,t){e&&t.__k&&t.__k.__m&&(e.__m=t.__k.__m),
Ln&&Ln(e,t)},A.__r=function(e){In&&In(e),ye=0;var t=(H=e.__c).__H;t&&(ut==H?H.__h=[]:(t.__h.some(we),t.__h.some(ft),ye=0),t.__h=[],t.__.some(function(n){n.__N&&
(n.__=n.__N),n.u=n.__N=void 0})),ut=H},A.diffed=function(e){Tn&&Tn(e);var t=e.__c;t&&t.__H&&(t.__H.__h.length&&Dn(Fn.push(t)),t.__H.__.some(function(n){n.u&&(n.
__H=n.u)})),ut=H=null},A.__c=function(e,t){t.some(function(n){try{n.__h.some(we),n.__h=n.__h.filter(function(r){return!r.__||ft(r)})}catch(r){n.__h=[function(){
throw r}]}}),Mn&&Mn(e,t)},A.unmount=function(e){Pn&&Pn(e);var t,n,r=e.__c;r&&r.__H&&(r.__H.__.some(function(o){try{if(o.__P&&o.__c){if(n===void 0){for(n=e.__;n&&
(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}o.__P=n,Dn(ht.push(o))}else we(o)}catch(s){t=s}}),r.__H=void 0,t&&A.__e(t,r.__v))};var Rn=typeof requestAnimationFrame==
"function";function Ys(e){var t,n=function(){clearTimeout(r),Rn&&cancelAnimationFrame(t),setTimeout(e)},r=setTimeout(n,35);Rn&&(t=requestAnimationFrame(n))}function Dn(e){
e!=1&&$n==A.requestAnimationFrame||(($n=A.requestAnimationFrame)||Ys)(Us)}function we(e){var t=H,n=e.__c;typeof n=="function"&&(e.__c=void 0,n()),H=t}function ft(e){
var t=H;e.__c=e.__(),H=t}function An(e,t){return!e||e.length!=t.length||t.some(function(n,r){return!ct(n,e[r])})}function Hn(e,t){return typeof t=="function"?t(
e):t}var zs=Symbol.for("pv"),Gs=0;function u(e,t,n,r,o,s){t||(t={});var i,a,c=t;if("ref"in c&&typeof e!="function")for(a in c={},t)a=="ref"?i=t[a]:c[a]=t[a];var l={type:e,props:c,key:n,ref:i,__k:null,
__:null,__b:0,__e:null,__c:null,constructor:zs,__v:--Gs,__i:-1,__u:0};return(o||s)&&(l.__source=o,l.__self=s),T.vnode&&T.vnode(l),l}var Xs=7.3,Bn=17;function Ks(e){let t=[],n=[],r=(l,d)=>n.push({from:l,to:d}),o=e.exports??[];o.forEach((l,d)=>{t.push({id:`export ${l.cluster}`,lines:[`ServiceE\
xport in ${l.cluster}`,l.status+(d===0&&o.length>1?", oldest":""),(l.ports??[]).join(" ")],tone:["Published","Ready"].includes(l.status)?"":"warning"}),r(`expor\
t ${l.cluster}`,"merge")});let s=(e.values??[]).filter(l=>Object.keys(l.others??{}).length).length;t.push({id:"merge",lines:["merge",s?`${s} conflicts: the olde\
st wins`:o.length?`${(e.values??[]).length} properties agree`:"no export"],tone:s?"warning":""});let i=e.import;t.push({id:"import",lines:i?[`ServiceImport in ${e.
cluster}`,`${i.type}, ${i.status}`,(i.ips??[]).join(" ")]:[`no ServiceImport in ${e.cluster}`],tone:i?.status==="Ready"?"good":"error"}),r("merge","import");let a=e.
records??[];t.push({id:"dns",lines:["DNS",...a.length?a.map(l=>`${l.type} ${l.values?.[0]??""}${l.total>1?` and ${l.total-1} more`:""}`):["no answer"],e.dns?.length?
`by ${e.dns.join(", ")}`:"not forwarded"],tone:a.length&&e.dns?.length?"good":"error"}),r("import","dns");let c=e.derivedService?"service":"import";e.derivedService&&
(t.push({id:"service",lines:["derived Service",e.derivedService]}),r("import","service"));for(let l of e.sources??[]){let f=(e.endpoints??[]).filter(p=>p.cluster===
l.cluster).filter(p=>p.state==="Standby");t.push({id:`endpoints ${l.cluster}`,lines:[`endpoints of ${l.cluster}`,`${l.readyHere} ready of ${l.imported}`,f.length?
`${f.length} on standby (${f[0].reason})`:""],tone:l.readyHere?"good":f.length?"warning":"error"}),r(c,`endpoints ${l.cluster}`)}return{nodes:t.map(l=>({...l,lines:l.
lines.filter(Boolean).map(Js)})),edges:n}}function Js(e){return e.length>40?e.slice(0,39)+"\u2026":e}function qn({detail:e}){return u(gt,{label:"The way of the \
service",...Ks(e)})}function gt(e){return fe(()=>Qs(e),[JSON.stringify(e)])}function Qs({label:e,nodes:t,edges:n,words:r}){let o=new dt.graphlib.Graph().setGraph(
{rankdir:"LR",nodesep:12,ranksep:36,marginx:4,marginy:4}).setDefaultEdgeLabel(()=>({}));for(let h of t)o.setNode(h.id,{width:Math.max(...h.lines.map(g=>g.length))*
Xs+20,height:h.lines.length*Bn+14});for(let h of n)o.setEdge(h.from,h.to);dt.layout(o);let s=n.map(h=>o.edge(h.from,h.to).points),i=o.graph(),a=[0,i.width??0,...s.
flat().map(h=>h.x)],c=[0,i.height??0,...s.flat().map(h=>h.y)],[l,d]=[Math.min(...a)-2,Math.min(...c)-2],[f,p]=[Math.max(...a)+2-l,Math.max(...c)+2-d];return u("\
div",{class:"scroll",tabIndex:0,role:"region","aria-label":e,children:u("svg",{class:"flow",role:"img","aria-label":r??t.map(h=>h.lines.join(" ")).join("; "),width:f,
height:p,viewBox:`${l} ${d} ${f} ${p}`,children:[u("defs",{children:u("marker",{id:"arrow",viewBox:"0 0 8 8",refX:"8",refY:"4",markerWidth:"6",markerHeight:"6",
orient:"auto",children:u("path",{d:"M0 0L8 4L0 8z"})})}),n.map((h,g)=>u("path",{class:`edge ${h.tone??""}`,"marker-end":h.both?void 0:"url(#arrow)",d:`M${s[g].map(
b=>`${b.x} ${b.y}`).join("L")}`})),t.map(h=>{let g=o.node(h.id);return u("g",{class:h.tone,transform:`translate(${g.x-g.width/2} ${g.y-g.height/2})`,children:[u(
"rect",{width:g.width,height:g.height,rx:5}),h.lines.map((b,v)=>u("text",{x:10,y:Bn*(v+1)+1,class:v?"":"head",children:b}))]})})]})})}var Zs=1e3,ei=25e3,ti=3e5,Wn=document.getElementById("snapshot"),F=Wn?JSON.parse(Wn.textContent??"null"):null,I={overview:null,services:new Map,sorted:[],log:[],
connected:!1,refused:"",version:0},mt=new Set,_t=!1;function He(){I.version++,!_t&&(_t=!0,requestAnimationFrame(()=>{_t=!1;for(let e of mt)e()}))}function W(){let[
,e]=q(0);return X(()=>{let t=()=>e(n=>n+1);return mt.add(t),()=>{mt.delete(t)}},[]),I}function K(e,t,n=!1){I.log.unshift({at:Date.now(),about:e,text:t,worse:n}),
I.log.length=Math.min(I.log.length,Zs)}var Ae=new Map,ni=3e3;function ri(e){let t=(n,r)=>{r?Ae.has(n)||Ae.set(n,Date.now()):Ae.delete(n)};t("",e.broker.read);for(let n of e.
clusters)t(n.id,n.named?n.state==="read":e.broker.members)}var Vn=e=>Date.now()-(Ae.get(e)??Date.now())>ni;function oi(e,t,n){let r=[["exports","export"],["impo\
rts","import"]];for(let[s,i]of r){let a=t?.[s]??{},c=n?.[s]??{};for(let l of new Set([...Object.keys(a),...Object.keys(c)])){let d=a[l],f=c[l];Vn(l)&&(f?d?d.s!==
f.s?K(e,`${i} in ${l}: ${d.s} \u2192 ${f.s}`,f.p==="error"):((d.r??0)!==(f.r??0)||(d.b??0)!==(f.b??0))&&K(e,`${l}: ${Un(d)} \u2192 ${Un(f)}`,(f.r??0)===0):K(e,`\
new ${i} in ${l}: ${f.s}`,f.p==="error"):K(e,`${i} in ${l} is gone`,!0))}}if(!Vn(""))return;let o=[t?.conflicts?.length??0,n?.conflicts?.length??0];o[0]!==o[1]&&
K(e,`${o[0]} \u2192 ${o[1]} conflicts`,o[1]>o[0])}function Un(e){return`${e.r??0} of ${e.n??0} endpoints ready`+(e.b?`, ${e.b} on standby`:"")}function si(e,t){
let n=new Map(e.clusters.map(r=>[r.id,r]));for(let r of t.clusters){let o=e.clusters.find(s=>r.named&&s.named&&s.context===r.context)??n.get(r.id);n.delete(r.id),
o&&n.delete(o.id),o?(!o.error!=!r.error&&K(r.id,r.error?`does not answer: ${r.error}`:"answers again",!!r.error),o.member?.state!==r.member?.state&&K(r.id,`${o.
member?.state??"\u2013"} \u2192 ${r.member?.state??"\u2013"}`,r.member?.state!=="Ready"),(o.member?.drained??"")!==(r.member?.drained??"")&&K(r.id,r.member?.drained?
`drained: ${r.member.drained}`:"no longer drained")):K(r.id,"new cluster")}for(let r of n.keys())K(r,"cluster is gone",!0)}function Yn(e){let t=!I.overview;e.overview&&
(I.overview&&si(I.overview,e.overview),I.overview=e.overview,ri(e.overview));let n=!1;if(e.all){n=!0;for(let r of I.services.keys())e.services?.[r]||I.services.
delete(r)}for(let[r,o]of Object.entries(e.services??{})){let s=I.services.get(r);t||oi(r,s,o),o?(n||=!s,I.services.set(r,o)):n=I.services.delete(r)||n}n?I.sorted=
[...I.services.values()].sort((r,o)=>r.id<o.id?-1:1):e.services&&(I.sorted=I.sorted.map(r=>I.services.get(r.id)??r)),He()}function zn(){if(F){I.connected=!0,Yn(
F);return}let e,t=Date.now(),n=!0,r=s=>{I.connected!==s&&(I.connected=s,He())},o=()=>{[t,n]=[Date.now(),!0],e=new EventSource("/api/live"),e.onmessage=s=>{[t,n]=
[Date.now(),!1],I.refused="",r(!0),Yn(JSON.parse(s.data))},e.addEventListener("alive",()=>t=Date.now()),e.onerror=()=>{r(!1),e.readyState===EventSource.CLOSED&&
ii()}};o(),setInterval(()=>{Date.now()-t>(n?ti:ei)&&(r(!1),e.close(),o()),He()},5e3)}async function ii(){let e=new AbortController;try{let t=await fetch("/api/l\
ive",{signal:e.signal});if(t.status===401)return location.reload();I.refused=t.ok?"":(await t.text()).trim()}catch{I.refused=""}finally{e.abort()}He()}async function ae(e,t,n){
let r=await fetch(`/api/${e}?${new URLSearchParams(t)}`,{signal:n});if(!r.ok)throw new Error((await r.text()).trim());return r.json()}function le(e,t,n,r){let[o,
s]=q({loading:!0,of:e,at:0}),[i,a]=q(0);return X(()=>{let c=new AbortController;return s(l=>l.of===e?{...l,loading:!0}:{of:e,loading:!0,at:0}),r(c.signal).then(
l=>s({value:l,loading:!1,of:e,at:Date.now()}),l=>c.signal.aborted||s({error:String(l.message??l),loading:!1,of:e,at:Date.now()})),()=>c.abort()},[e,t,i]),X(()=>{
if(F)return;let c=setInterval(()=>document.visibilityState==="visible"&&a(l=>l+1),n*1e3);return()=>clearInterval(c)},[n]),o.of===e?o:{loading:!0,at:0}}function Q(e){
return e.clusters.filter(t=>!t.outside)}function ke(e){return Q(e).filter(t=>t.named&&t.state!=="unread")}function pe(e){return e.state==="read"&&!!e.error}function B(e){
return e.state==="unread"?e.named?"not read":"not read: no context is its own":e.state==="reading"?"reading":e.error?`does not answer, last ${Z(e.answered)}`:e.
unread?.length?"not all can be read":""}function Z(e){return e?ai(((F?.overview?.at??Date.now())-e)/1e3)+" ago":"never"}function ai(e){let t=Math.max(0,Math.round(
e));return t<120?`${t} s`:t<7200?`${Math.round(t/60)} min`:t<172800?`${Math.round(t/3600)} h`:`${Math.round(t/86400)} d`}function vt(){let[e="",t=""]=location.hash.replace(/^#\/?/,"").split("?"),[n="",...r]=e.split("/").map(li);return{page:n||"clusters",rest:r,query:new URLSearchParams(
t)}}function li(e){try{return decodeURIComponent(e)}catch{return e}}function U(){let[e,t]=q(vt);return X(()=>{let n=()=>t(vt());return addEventListener("hashcha\
nge",n),()=>removeEventListener("hashchange",n)},[]),e}function Y(e){let{query:t}=vt();for(let[r,o]of Object.entries(e))o?t.set(r,o):t.delete(r);let n=t.toString();
history.replaceState(null,"",location.hash.split("?")[0]+(n?`?${n}`:"")),dispatchEvent(new HashChangeEvent("hashchange"))}function ge(e){return`#/service/${e}`}
var di={error:"\xD7",warning:"\u203C",pending:"\u2026",ok:"\u221A",skipped:"\u2013"};function xe({of:e}){return u("span",{class:`mark ${e}`,role:"img","aria-lab\
el":e,children:di[e]})}function Be({all:e}){return e?.length?u("ul",{class:"findings",children:e.map(t=>u("li",{children:[u(xe,{of:t.severity})," ",u("strong",{
children:t.about}),": ",t.message,t.do&&u(re,{text:t.do})]}))}):u("p",{class:"good",children:"No problems."})}function re({text:e}){let[t,n]=q(!1);return u("spa\
n",{class:"copy",children:[u("code",{children:e}),u("button",{type:"button",onClick:async()=>{try{await navigator.clipboard.writeText(e),n(!0),setTimeout(()=>n(
!1),1500)}catch{n(!1)}},"aria-label":`Copy: ${e}`,children:t?"copied":"copy"})]})}function M({children:e}){return u("p",{class:"notice",role:"status",children:e})}
function ee(e){return u("div",{class:"scroll",tabIndex:0,role:"region","aria-label":e.label,children:[u("table",{class:e.class,children:[u("thead",{children:u("\
tr",{children:e.heads.map(t=>u("th",{scope:"col",children:t}))})}),u("tbody",{children:e.children})]}),e.note&&u("p",{class:"small",children:e.note})]})}function qe(e){
return Object.entries(e.others??{}).map(([t,n])=>`${t}: ${n}`).join(", ")}function bt({what:e}){return F?u(M,{children:[e," are not in a snapshot."]}):null}function J({
label:e,value:t,of:n,onChange:r}){return u("label",{children:[e," ",u("select",{value:t,onChange:o=>r(o.currentTarget.value),children:n.map(([o,s])=>u("option",
{value:o,selected:o===t,children:s}))})]})}function V({children:e}){let t=Ee(null);return X(()=>{document.title=`${t.current?.textContent} \u2013 Atoll`,(document.
activeElement===document.body||document.activeElement?.closest("nav"))&&t.current?.focus({preventScroll:!0})},[String(e)]),u("h1",{tabIndex:-1,ref:t,children:e})}function Kn(){let{overview:e}=W(),{query:t}=U();if(!e)return u(M,{children:"Reading the clusters."});let n=e.clusters.find(r=>r.id===t.get("cluster"));return u(
j,{children:[u(V,{children:"Clusters"}),u(Et,{}),u("ul",{class:"cards",children:e.clusters.map(r=>u("li",{class:`card ${B(r)?"stale":""} ${Jn(r)}`,children:u(ui,
{c:r})}))}),n&&u(ci,{cluster:n}),u("h2",{children:"Who reaches whom"}),u(gi,{clusters:Q(e)})]})}function Et(){let{broker:e}=I.overview;return e.read&&e.members&&
!e.error?u("p",{children:["Broker: ",e.server]}):!e.error&&e.unread?u(M,{children:["The broker can be read only in part: ",e.unread.join("; "),". ",!e.read&&"Co\
nflicts and the exports of clusters that are not read are unknown. ",!e.members&&"The states of the clusters are unknown."]}):u(M,{children:["The broker ",e.read?
`cannot be read now, and has answered last ${Z(e.answered)}`:"cannot be read",": ",e.error||"connecting",". Without it, conflicts, heartbeats and the exports of\
 clusters that are not read are unknown or old."]})}function Jn(e){let{broker:t}=I.overview;return!t.members||t.error||e.outside?"":e.member?.state==="Silent"||
e.member?.state==="Lost"?"bad":e.member?.drained||e.member?.overBudgetOf?.length||e.unread?.length?"warn":e.member?.state==="Ready"?"good":""}function ui({c:e}){
let t=e.member,{broker:n}=I.overview,r=n.members&&!n.error,o=[...I.services.values()].filter(i=>i.exports?.[e.id]?.p==="error"||i.imports?.[e.id]?.p==="error").
length,s=[["State",e.outside?e.outside:r?t?t.state:"not on the broker":`unknown${t?`, last ${t.state}`:""}`],["Heartbeat",t?.heartbeatSeconds===void 0?void 0:Z(
(n.answered??0)-1e3*t.heartbeatSeconds)],["Kubernetes",t?.kubernetes],["Agent",t?.agent],["Reached by",t?.advertises],["Region",t?.region],["Drained",t?.drained],
["Exports",t&&`${t.exports} (at most ${t.exportsLimit.toLocaleString()})`],["May export",t&&!t.namespaces.includes("*")?t.namespaces.join(", ")||"nothing":void 0],
["Ranges",t?.allowedRanges?.join(", ")],["Budget",t?.overBudgetOf?.length?`exceeds that of ${t.overBudgetOf.join(", ")}`:void 0]];return u(j,{children:[u("h2",{
children:[u("a",{href:`#/clusters?cluster=${encodeURIComponent(e.id)}`,children:e.id}),B(e)&&u("span",{class:"tag",children:B(e)}),t?.drained&&u("span",{class:"\
tag",children:"drained"})]}),u("dl",{children:s.map(([i,a])=>a&&u(j,{children:[u("dt",{children:i}),u("dd",{children:a})]}))}),o>0&&u("p",{children:u("a",{href:`\
#/services?state=problem&cluster=${encodeURIComponent(e.id)}`,children:[o," services with errors"]})}),e.error&&e.named&&u("p",{class:"small",children:e.error}),
e.unread?.map(i=>u("p",{class:"small",children:i}))]})}function ci({cluster:e}){let t=le(e.id,e.state+pe(e),15,async r=>{if(!F)return ae("status",{cluster:e.id},
r);let o=F.status[e.id];if(!o)throw new Error(F.errors[e.id]??"not in the snapshot");return o}),n=t.value;return u("section",{"aria-labelledby":"status",children:[
u("h2",{id:"status",children:["Status of ",e.id]}),t.loading&&!n&&u(M,{children:["Reading ",e.id,"."]}),t.error&&u(M,{children:t.error}),n&&u(j,{children:[!F&&u(
"p",{class:"small",children:["read ",Z(t.at)]}),u("p",{children:[n.components.map(r=>`${r.name}: ${r.ready} of ${r.wanted} ready`).join("; ")||"No component of \
Atoll.",n.dns?.length?`; DNS: ${n.dns.join(", ")}`:""]}),u(Be,{all:n.findings})]}),e.named&&u(re,{text:`atoll status${e.on??""}`})]})}var wt={yes:["\u25CF","rea\
ched, as far as is known"],silent:["\u25D0","its endpoints do not answer; they are on standby"],withdrawn:["\xD7","unreachable: its endpoints are withdrawn"],unproven:[
"\u25CB","none of its endpoints has ever answered"],unknown:["?","unknown"],self:["\xB7",""]};function yt(e,t){return e.id===t.id?"self":e.state!=="read"||e.error||
!e.knowsLost||e.member?.state!=="Ready"?"unknown":e.withdrawn?.[t.id]?"withdrawn":e.silent?.[t.id]?"silent":e.unproven?.[t.id]?"unproven":"yes"}var Gn=8,hi=60,fi={
good:"good",warn:"warning",bad:"error"},Xn={yes:"good",silent:"warning",unproven:"warning",withdrawn:"error"};function pi({clusters:e}){let t=[],n=s=>s!=="unkno\
wn"&&(s!=="yes"||e.length<=Gn);for(let[s,i]of e.entries())for(let a of e.slice(s+1)){let[c,l]=[yt(i,a),yt(a,i)];n(c)&&t.push({from:i.id,to:a.id,tone:Xn[c],both:c===
l}),n(l)&&c!==l&&t.push({from:a.id,to:i.id,tone:Xn[l]})}let o=e.filter(s=>e.length<=Gn||t.some(i=>i.from===s.id||i.to===s.id)).map(s=>({id:s.id,lines:[s.id],tone:B(
s)?"":fi[Jn(s)]}));return!o.length||t.length>hi?null:u(gt,{label:"Picture of who reaches whom",nodes:o,edges:t,words:"The table below says the same."})}function gi({
clusters:e}){return u(j,{children:[u(pi,{clusters:e}),u(_i,{clusters:e})]})}function _i({clusters:e}){return u(ee,{label:"Who reaches whom",class:"reach",heads:[
"from \\ to",...e.map(t=>t.id)],note:["yes","silent","withdrawn","unproven","unknown"].map(t=>u("span",{class:"legend",children:[wt[t][0]," ",wt[t][1]]})),children:e.
map(t=>u("tr",{class:B(t)?"stale":"",children:[u("th",{scope:"row",children:t.id}),e.map(n=>{let r=yt(t,n),[o,s]=wt[r];return u("td",{class:r,title:s&&`${t.id} \
\u2192 ${n.id}: ${s}`,children:[u("span",{"aria-hidden":"true",children:o}),u("span",{class:"hidden",children:s})]})})]}))})}function Zn(){let{overview:e,sorted:t}=W(),{query:n}=U(),r=n.get("q")??"";if(!e)return u(M,{children:"Reading the clusters."});let o=t.filter(s=>s.id.includes(r)).
flatMap(s=>(s.conflicts??[]).map(i=>({id:s.id,...i})));return u(j,{children:[u(V,{children:"Conflicts"}),u("p",{children:"Exports of one service that differ. Th\
e oldest export decides (KEP-1645)."}),(!e.broker.read||e.broker.error)&&u(Et,{}),u("form",{class:"filter",role:"search",onSubmit:s=>s.preventDefault(),children:[
u("label",{children:["Filter ",u("input",{type:"search",value:r,onInput:s=>Y({q:s.currentTarget.value})})]}),u("output",{"aria-live":"polite",children:o.length})]}),
e.broker.read&&!e.broker.error&&o.length===0&&u("p",{class:"good",children:"No conflicts."}),o.length>0&&u(ee,{label:"Conflicts",heads:["Service","Property","In\
 use","From","Others want"],note:o.length>500&&"The first 500.",children:o.slice(0,500).map(s=>u("tr",{children:[u("th",{scope:"row",children:u("a",{href:ge(s.id),
children:s.id})}),u("td",{children:s.property}),u("td",{children:s.using}),u("td",{children:s.from}),u("td",{children:qe(s)})]}))})]})}var Qn=["error","warning",
"skipped","ok"];function er(){let{overview:e}=W(),[t,n]=q("");if(!e)return u(M,{children:"Reading the clusters."});let{checks:r}=e,o=async()=>{let a=await fetch(
"/api/checks",{method:"POST"});n(a.ok?"":await a.text())},s=[...r.results??[]].sort((a,c)=>Qn.indexOf(a.status)-Qn.indexOf(c.status)),i=a=>s.filter(c=>c.status===
a).length;return u(j,{children:[u(V,{children:"Checks"}),u(bt,{what:"Runs of checks"}),u("p",{children:["The checks that need no test pods: a console creates no\
thing. ",r.command&&u(j,{children:"All checks: "})]}),r.command&&u(re,{text:r.command}),!F&&u("p",{children:[u("button",{type:"button",onClick:o,disabled:r.running,
children:r.running?"Running":"Run the checks"})," ",r.running&&u("progress",{max:r.of,value:r.read,"aria-label":"Clusters read"})]}),(t||r.error)&&u(M,{children:t||
r.error}),s.length>0&&u("p",{role:"status",children:[i("error")," errors, ",i("warning")," warnings, ",i("skipped")," skipped, ",i("ok")," passed",r.ended?`, ${Z(
r.ended)}`:""]}),u("ul",{class:"findings",children:s.map(a=>u("li",{children:[u(xe,{of:a.status})," ",u("strong",{children:[a.cluster,a.from&&`${a.from} \u2192 ${a.
to}`].filter(Boolean).join(" ")})," ",a.id," ",a.title,a.message&&a.status!=="ok"?`: ${a.message}`:"",a.hint&&u(re,{text:a.hint})]}))})]})}function tr(){let{log:e,
overview:t}=W(),{query:n}=U();if(!t)return u(M,{children:"Reading the clusters."});let r=ke(t),o=n.get("cluster")||r[0]?.id||"";return u(j,{children:[u(V,{children:"\
Events"}),!F&&u(j,{children:[u("h2",{children:"Changed since the page was opened"}),e.length===0&&u("p",{children:"Nothing yet."}),u("ol",{class:"log","aria-liv\
e":"polite",children:e.slice(0,300).map(s=>u("li",{class:s.worse?"worse":"",children:[u("time",{children:new Date(s.at).toLocaleTimeString()})," ",s.about.includes(
"/")?u("a",{href:ge(s.about),children:s.about}):u("strong",{children:s.about})," ",s.text]}))})]}),u("h2",{children:u(J,{label:"Events of",value:o,of:r.map(s=>[
s.id,s.id]),onChange:s=>Y({cluster:s})})}),u(mi,{cluster:o})]})}function mi({cluster:e}){let t=le(e,"",15,async n=>{if(!F)return ae("events",{cluster:e},n);let r=F.
events[e];if(!r)throw new Error(F.errors[e]??"not in the snapshot");return r});return u("section",{"aria-busy":t.loading,children:[t.error&&u(M,{children:t.error}),
t.value?.all.length===0&&u("p",{children:"Atoll has no Events there."}),(t.value?.more||(t.value?.all.length??0)>300)&&u(M,{children:["There are more Events tha\
n are shown: some are missing",t.value?.more&&", perhaps the newest","."]}),u("ol",{class:"log",children:(t.value?.all??[]).slice(0,300).map(n=>u("li",{class:n.
type==="Warning"?"worse":"",children:[u("time",{dateTime:n.at,children:new Date(n.at).toLocaleString()})," ",u("strong",{children:n.about})," ",n.reason,": ",n.
message]}))})]})}function nr(){let{overview:e}=W(),{query:t}=U();if(!e)return u(M,{children:"Reading the clusters."});let n=t.get("without")??"",r=ke(e),o=t.get(
"cluster")||r.find(s=>s.id!==n)?.id||"";return u(j,{children:[u(V,{children:"What if"}),u("p",{children:"Who would serve each service without a cluster, as of n\
ow."}),u(bt,{what:"Predictions"}),!F&&u(j,{children:[u("form",{class:"filter",onSubmit:s=>s.preventDefault(),children:[u(J,{label:"Without",value:n,of:[["","cho\
ose a cluster"],...Q(e).map(s=>[s.id,s.id])],onChange:s=>Y({without:s})}),u(J,{label:"As seen from",value:o,of:r.map(s=>[s.id,s.id]),onChange:s=>Y({cluster:s})})]}),
n&&u(vi,{without:n,cluster:o})]})]})}function vi({without:e,cluster:t}){let n=le(`${e} ${t}`,"",60,s=>ae("without",{without:e,cluster:t},s));if(n.loading&&!n.value)
return u(M,{children:["Reading ",t,"."]});if(n.error)return u(M,{children:n.error});let r=(n.value?.predictions??[]).flatMap(s=>(s.ports?.length?s.ports:[{port:"\
no endpoint now",family:"",served:!1}]).map(i=>({id:bi(s.name),port:i}))).sort((s,i)=>Number(s.port.served)-Number(i.port.served)||(s.id<i.id?-1:1)),o=r.filter(
s=>!s.port.served).length;return u(j,{children:[n.value?.unread?.map(s=>u(M,{children:["This is not certain: ",s]})),u("p",{role:"status",class:o?"bad":n.value?.
unread||!r.length?"":"good",children:r.length===0?`${t} imports nothing from ${e}.`:`Without ${e}, ${o?`${o} of ${r.length} ports would not be served`:`${r.length===
1?"the only port":`all ${r.length} ports`} would be served`} in ${t}.`}),u(ee,{label:"Predictions",heads:["Service","Port","IP family","Served","By"],note:r.length>
1e3&&"The first 1000.",children:r.slice(0,1e3).map(s=>u("tr",{class:s.port.served?"":"error",children:[u("th",{scope:"row",children:u("a",{href:ge(s.id),children:s.
id})}),u("td",{children:s.port.port||"(no name)"}),u("td",{children:s.port.family}),u("td",{children:s.port.served?"yes":"no"}),u("td",{children:(s.port.clusters??
[]).map(i=>`${i.cluster}: ${i.role} (${i.reason})${i.active?` ${Math.round(i.sharePercent)}%`:""}`).join(", ")})]}))})]})}function bi(e){let[t,n]=e.split(".svc.")[0].
split(/\.(?=[^.]*$)/);return`${n}/${t}`}function or(){let{overview:e,services:t}=W(),{rest:n,query:r}=U(),o=n.join("/"),s=t.get(o);if(!e)return u(M,{children:"Reading the clusters."});let i=ke(e),a=r.
get("cluster")||(i.find(c=>s?.imports?.[c.id])??i[0])?.id||"";return u(j,{children:[u(V,{children:o}),!s&&u(M,{children:"No cluster that is read exports or impo\
rts this service."}),s&&u(wi,{row:s}),!F&&i.length>0&&u(j,{children:[u("h2",{children:u(J,{label:"As seen from",value:a,of:i.map(c=>[c.id,c.id]),onChange:c=>Y({
cluster:c})})}),u(Ei,{id:o,cluster:a,seen:JSON.stringify(s??null)+e.clusters.map(c=>c.state+pe(c)).join()})]}),F&&u(yi,{row:s})]})}function wi({row:e}){return u(
ee,{label:"The service in each cluster",heads:["Cluster","Export","Import","Ready","From"],children:Q(I.overview).map(t=>{let[n,r]=[e.exports?.[t.id],e.imports?.[t.
id]];return u("tr",{class:B(t)?"stale":"",children:[u("th",{scope:"row",children:[t.id," ",B(t)&&u("span",{class:"tag",children:B(t)})]}),u("td",{children:n&&u(
rr,{cell:n})}),u("td",{children:r&&u(rr,{cell:r})}),u("td",{children:r&&(r.u?"unknown":`${r.r??0} of ${r.n??0}`)}),u("td",{children:Object.entries(r?.f??{}).sort().
map(([o,[s,i]])=>`${o}: ${s}${i?` (+${i} on standby)`:""}`).join(", ")})]})})})}function rr({cell:e}){return u(j,{children:[e.p&&u(xe,{of:e.p})," ",e.s,e.m&&u("\
span",{class:"small",children:[": ",e.m]})]})}function yi({row:e}){return e?.conflicts?.length?u(j,{children:[u("h2",{children:"Conflicts"}),u(sr,{all:e.conflicts})]}):
null}function sr({all:e,why:t}){return u(ee,{label:"Merged properties",heads:["Property","Value","From","Others want"],children:e.map(n=>u("tr",{children:[u("th",
{scope:"row",children:n.property}),u("td",{children:n.using}),u("td",{children:[n.from,t&&n.others?` (${t})`:""]}),u("td",{children:qe(n)})]}))})}function Ei({id:e,
cluster:t,seen:n}){let r=le(`${e} ${t}`,n,15,s=>ae("explain",{service:e,cluster:t},s)),o=r.value;return u("section",{"aria-busy":r.loading,children:[r.loading&&
!o&&u(M,{children:["Reading ",t,"."]}),r.error&&u(M,{children:r.error}),o&&u(j,{children:[u("p",{children:[u("code",{children:o.name})," ",u("strong",{class:`ve\
rdict ${o.verdict==="works"?"good":o.verdict==="does not work"?"bad":"warn"}`,children:o.verdict})," in ",o.cluster,". ",u("span",{class:"small",children:["Read\
 ",Z(r.at),"."]})]}),u(qn,{detail:o}),u("h3",{children:"Findings"}),u(Be,{all:o.findings}),o.values&&u(j,{children:[u("h3",{children:"Merged properties"}),u(sr,
{all:o.values,why:"oldest export"})]}),u("h3",{children:"Endpoints"}),u(ee,{label:"Endpoints",heads:["Address","Cluster","State","Ports","Zone"],children:(o.endpoints??
[]).slice(0,500).map(s=>u("tr",{children:[u("th",{scope:"row",children:s.addresses.join(" ")}),u("td",{children:s.cluster}),u("td",{children:s.state+(s.reason?`\
 (${s.reason})`:"")}),u("td",{children:(s.ports??[]).join(" ")}),u("td",{children:s.zone})]}))}),(o.endpoints?.length??0)>500&&u("p",{class:"small",children:["T\
he first 500 of ",o.endpoints.length,"."]}),u("h3",{children:"Commands"}),o.commands.map(s=>u("p",{children:u(re,{text:s})})),u("h3",{children:"Objects"}),(o.objects??
[]).map(s=>u("details",{children:[u("summary",{children:s.name}),u("pre",{tabIndex:0,children:s.yaml})]}))]})]})}var de=30,ir=10,ki=[["","all"],["exported","exported"],["imported","imported"],["problem","with problems"],["conflict","in conflict"],["active","active: with a \
ready endpoint"],["standby","with standby"],["unserved","without a ready endpoint"],["stale","stale: of a cluster that does not answer"]];function xi(e,t,n,r){let o=s=>n?
[s?.[n]].filter(i=>i!==void 0):Object.values(s??{});switch(t){case"exported":return o(e.exports).length>0;case"imported":return o(e.imports).length>0;case"activ\
e":return o(e.imports).some(s=>s.r);case"stale":return[...Object.keys(e.exports??{}),...Object.keys(e.imports??{})].some(s=>(!n||s===n)&&r.has(s));case"problem":
return[...o(e.exports),...o(e.imports)].some(s=>s.p);case"conflict":return!!e.conflicts?.length;case"standby":return o(e.imports).some(s=>s.b);case"unserved":return o(
e.imports).some(s=>!s.r&&!s.u)}return!n||o(e.exports).length+o(e.imports).length>0}function Ni(e,t,n,r,o,s){let i=t.toLowerCase().split(/\s+/).filter(Boolean);return e.
filter(a=>(!n||a.id.startsWith(n+"/"))&&i.every(c=>a.id.includes(c))&&(!r&&!o||xi(a,r,o,s)))}function dr(){let{overview:e,sorted:t,version:n}=W(),{query:r}=U(),
[o,s,i,a]=["q","ns","state","cluster"].map(h=>r.get(h)??""),c=Ee(null),l=new Set(e?.clusters.filter(pe).map(h=>h.id)),d=fe(()=>Ni(t,o,s,i,a,l),[n,o,s,i,a]),f=fe(
()=>[...new Set(t.map(h=>h.id.split("/")[0]))],[t]);if(X(()=>{let h=g=>{g.key==="/"&&!g.target.closest("input, select, textarea")&&(g.preventDefault(),c.current?.
focus())};return addEventListener("keydown",h),()=>removeEventListener("keydown",h)},[]),!e)return u(M,{children:"Reading the clusters."});let p=Q(e);return u(j,
{children:[u(V,{children:"Services"}),u("form",{class:"filter",role:"search",onSubmit:h=>h.preventDefault(),children:[u("label",{children:["Filter ",u("kbd",{"a\
ria-hidden":"true",children:"/"})," ",u("input",{ref:c,type:"search",value:o,"aria-keyshortcuts":"/",onInput:h=>Y({q:h.currentTarget.value})})]}),u(J,{label:"Na\
mespace",value:s,of:[["","all"],...f.map(h=>[h,h])],onChange:h=>Y({ns:h})}),u(J,{label:"State",value:i,of:ki,onChange:h=>Y({state:h})}),u(J,{label:"Cluster",value:a,
of:[["","all"],...p.map(h=>[h.id,h.id])],onChange:h=>Y({cluster:h})}),u("output",{"aria-live":"polite",children:[d.length," of ",t.length]})]}),u(Oi,{rows:d,clusters:a?
p.filter(h=>h.id===a):p}),u("p",{class:"small",children:[u("span",{class:"legend",children:"\u2191 exports"}),u("span",{class:"legend",children:"\u2193 imports: read\
y endpoints of all, + on standby"}),u("span",{class:"legend",children:"\u2260 conflict"})]})]})}function Oi({rows:e,clusters:t}){let n=Ee(null),[r,o]=q(0),[s,i]=q(
600),[a,c]=q(0);X(()=>{let p=new ResizeObserver(()=>i(n.current?.clientHeight??600));return p.observe(n.current),()=>p.disconnect()},[]);let l=Math.max(0,Math.min(
Math.floor(r/de)-ir,e.length-1)),d=Math.min(e.length,Math.ceil((r+s)/de)+ir);return u("div",{class:"scroll services",ref:n,tabIndex:0,role:"region","aria-label":"\
Services and clusters",onScroll:p=>o(p.currentTarget.scrollTop),onKeyDown:p=>{let h={ArrowDown:1,ArrowUp:-1,PageDown:15,PageUp:-15,Home:-e.length,End:e.length}[p.
key];if(!h||!e.length)return;p.preventDefault();let g=Math.max(0,Math.min(e.length-1,a+h));c(g);let b=g*de,v=n.current;b<v.scrollTop?v.scrollTop=b:b+2*de>v.scrollTop+
v.clientHeight&&(v.scrollTop=b+2*de-v.clientHeight),requestAnimationFrame(()=>requestAnimationFrame(()=>v.querySelector(`[data-at="${g}"] a`)?.focus({preventScroll:!0})))},
children:u("table",{"aria-rowcount":e.length+1,children:[u("thead",{children:u("tr",{"aria-rowindex":1,children:[u("th",{scope:"col",children:"Service"}),t.map(
p=>u("th",{scope:"col",class:B(p)?"stale":"",title:B(p),children:p.id}))]})}),u("tbody",{children:[l>0&&u("tr",{class:"space","aria-hidden":"true",ref:p=>{p?.style.
setProperty("height",`${l*de}px`)}}),e.slice(l,d).map((p,h)=>u("tr",{"data-at":l+h,"aria-rowindex":l+h+2,children:[u("th",{scope:"row",children:[u("a",{href:ge(
p.id),onFocus:()=>c(l+h),children:p.id}),p.type==="Headless"&&u("span",{class:"tag",children:"headless"}),p.conflicts?.length?u("a",{class:"tag conflict",href:`\
#/conflicts?q=${p.id}`,"aria-label":`${p.conflicts.length} conflicts`,tabIndex:-1,children:"\u2260"}):null]}),t.map(g=>u(Ci,{row:p,c:g}))]},p.id)),d<e.length&&u(
"tr",{class:"space","aria-hidden":"true",ref:p=>{p?.style.setProperty("height",`${(e.length-d)*de}px`)}})]})]})})}function Ci({row:e,c:t}){let n=e.exports?.[t.id],
r=e.imports?.[t.id],o=[n,r].map(i=>i?.p).sort((i,a)=>ar(i)-ar(a))[0],s=[n&&`exports: ${lr(n)}`,r&&`imports: ${lr(r)}, ${r.u?"endpoints unknown":`${r.r??0} of ${r.
n??0} endpoints ready`}${r.b?`, ${r.b} on standby`:""}`,B(t)].filter(Boolean);return u("td",{class:`${o??""} ${B(t)?"stale":""}`,title:s.join(`
`),children:[!n&&!r&&t.unread?.length?"?":"",n&&"\u2191",r&&(r.u?" \u2193 ?":` \u2193 ${r.r??0}/${r.n??0}`),r?.b?` +${r.b}`:"",o&&u("span",{class:"hidden",children:o})]})}
function ar(e){return["error","warning","pending",void 0].indexOf(e)}function lr(e){return e.s+(e.m?` (${e.m})`:"")}var ur={clusters:["Clusters",Kn],services:["Services",dr],conflicts:["Conflicts",Zn],checks:["Checks",er],events:["Events",tr],"what-if":["What if",nr]};function Si(){
let{overview:e,connected:t,refused:n}=W(),{page:r}=U(),o=r==="service"?or:ur[r]?.[1];return u(j,{children:[u("a",{class:"skip",href:"#main",onClick:s=>(s.preventDefault(),
document.getElementById("main")?.focus()),children:"Skip to the content"}),u("header",{children:[u("strong",{children:["Atoll ",e?.clusterset]}),u("nav",{"aria-\
label":"Pages",children:Object.entries(ur).map(([s,[i]])=>u("a",{href:`#/${s}`,"aria-current":s===r||s==="services"&&r==="service"?"page":void 0,children:i}))}),
u("span",{class:`live ${t?"good":"bad"}`,role:"status",children:F?`snapshot of ${new Date(F.overview.at).toLocaleString()}`:t?"live":"not connected"})]}),u("mai\
n",{id:"main",tabIndex:-1,class:t?"":"stale",children:[n&&u(M,{children:n}),!t&&!n&&e&&u(M,{children:"atoll console does not answer: what is shown is old. If it\
 has ended, run it again."}),o?u(o,{}):u(V,{children:["There is no page ",r]})]})]})}zn();Lt(u(Si,{}),document.getElementById("app"));})();
