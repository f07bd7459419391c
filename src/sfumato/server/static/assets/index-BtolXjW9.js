const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/canvas-BvptHIDn.js","assets/canvas-CWvv-g_X.js","assets/offsets-EgNy2a1f.js","assets/canvas-BqwZnn-S.js","assets/canvas-styles-ooPMKL7q.js","assets/take-e_k57EW5.js","assets/editor-CctrmhMY.js","assets/code-0VB7YPsG.js","assets/repeat-wmaXMVvS.js","assets/files-CTAAkA73.js","assets/race-WLTH8ipB.js","assets/intervals-4lRxG4fx.js","assets/answer-DGxee2HY.js","assets/structure-BMnKx7FY.js","assets/live-CvleBvck.js","assets/steps-mb0g5HZU.js","assets/cost-DIBGtami.js","assets/tab-DkQpt8-3.js","assets/todo-DOeyb5yF.js","assets/keys-DoTgPSuZ.js","assets/screen-DxSewOsQ.js","assets/encyclopedia-E9P8x1Sp.js","assets/writing-DYC50BDf.js","assets/forum-CKxe-KFY.js","assets/desktop-B52qMAkj.js"])))=>i.map(i=>d[i]);
/**
 * @license
 * Copyright 2019 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const H=globalThis,K=H.ShadowRoot&&(H.ShadyCSS===void 0||H.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,W=Symbol(),Q=new WeakMap;let pt=class{constructor(t,e,r){if(this._$cssResult$=!0,r!==W)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=t,this.t=e}get styleSheet(){let t=this.o;const e=this.t;if(K&&t===void 0){const r=e!==void 0&&e.length===1;r&&(t=Q.get(e)),t===void 0&&((this.o=t=new CSSStyleSheet).replaceSync(this.cssText),r&&Q.set(e,t))}return t}toString(){return this.cssText}};const _t=s=>new pt(typeof s=="string"?s:s+"",void 0,W),F=(s,...t)=>{const e=s.length===1?s[0]:t.reduce((r,i,n)=>r+(o=>{if(o._$cssResult$===!0)return o.cssText;if(typeof o=="number")return o;throw Error("Value passed to 'css' function must be a 'css' function result: "+o+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(i)+s[n+1],s[0]);return new pt(e,s,W)},bt=(s,t)=>{if(K)s.adoptedStyleSheets=t.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(const e of t){const r=document.createElement("style"),i=H.litNonce;i!==void 0&&r.setAttribute("nonce",i),r.textContent=e.cssText,s.appendChild(r)}},tt=K?s=>s:s=>s instanceof CSSStyleSheet?(t=>{let e="";for(const r of t.cssRules)e+=r.cssText;return _t(e)})(s):s;/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const{is:wt,defineProperty:At,getOwnPropertyDescriptor:Et,getOwnPropertyNames:St,getOwnPropertySymbols:xt,getPrototypeOf:kt}=Object,I=globalThis,et=I.trustedTypes,Pt=et?et.emptyScript:"",Tt=I.reactiveElementPolyfillSupport,C=(s,t)=>s,D={toAttribute(s,t){switch(t){case Boolean:s=s?Pt:null;break;case Object:case Array:s=s==null?s:JSON.stringify(s)}return s},fromAttribute(s,t){let e=s;switch(t){case Boolean:e=s!==null;break;case Number:e=s===null?null:Number(s);break;case Object:case Array:try{e=JSON.parse(s)}catch{e=null}}return e}},J=(s,t)=>!wt(s,t),st={attribute:!0,type:String,converter:D,reflect:!1,useDefault:!1,hasChanged:J};Symbol.metadata??=Symbol("metadata"),I.litPropertyMetadata??=new WeakMap;let x=class extends HTMLElement{static addInitializer(t){this._$Ei(),(this.l??=[]).push(t)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(t,e=st){if(e.state&&(e.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(t)&&((e=Object.create(e)).wrapped=!0),this.elementProperties.set(t,e),!e.noAccessor){const r=Symbol(),i=this.getPropertyDescriptor(t,r,e);i!==void 0&&At(this.prototype,t,i)}}static getPropertyDescriptor(t,e,r){const{get:i,set:n}=Et(this.prototype,t)??{get(){return this[e]},set(o){this[e]=o}};return{get:i,set(o){const l=i?.call(this);n?.call(this,o),this.requestUpdate(t,l,r)},configurable:!0,enumerable:!0}}static getPropertyOptions(t){return this.elementProperties.get(t)??st}static _$Ei(){if(this.hasOwnProperty(C("elementProperties")))return;const t=kt(this);t.finalize(),t.l!==void 0&&(this.l=[...t.l]),this.elementProperties=new Map(t.elementProperties)}static finalize(){if(this.hasOwnProperty(C("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(C("properties"))){const e=this.properties,r=[...St(e),...xt(e)];for(const i of r)this.createProperty(i,e[i])}const t=this[Symbol.metadata];if(t!==null){const e=litPropertyMetadata.get(t);if(e!==void 0)for(const[r,i]of e)this.elementProperties.set(r,i)}this._$Eh=new Map;for(const[e,r]of this.elementProperties){const i=this._$Eu(e,r);i!==void 0&&this._$Eh.set(i,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(t){const e=[];if(Array.isArray(t)){const r=new Set(t.flat(1/0).reverse());for(const i of r)e.unshift(tt(i))}else t!==void 0&&e.push(tt(t));return e}static _$Eu(t,e){const r=e.attribute;return r===!1?void 0:typeof r=="string"?r:typeof t=="string"?t.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(t=>this.enableUpdating=t),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(t=>t(this))}addController(t){(this._$EO??=new Set).add(t),this.renderRoot!==void 0&&this.isConnected&&t.hostConnected?.()}removeController(t){this._$EO?.delete(t)}_$E_(){const t=new Map,e=this.constructor.elementProperties;for(const r of e.keys())this.hasOwnProperty(r)&&(t.set(r,this[r]),delete this[r]);t.size>0&&(this._$Ep=t)}createRenderRoot(){const t=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return bt(t,this.constructor.elementStyles),t}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(t=>t.hostConnected?.())}enableUpdating(t){}disconnectedCallback(){this._$EO?.forEach(t=>t.hostDisconnected?.())}attributeChangedCallback(t,e,r){this._$AK(t,r)}_$ET(t,e){const r=this.constructor.elementProperties.get(t),i=this.constructor._$Eu(t,r);if(i!==void 0&&r.reflect===!0){const n=(r.converter?.toAttribute!==void 0?r.converter:D).toAttribute(e,r.type);this._$Em=t,n==null?this.removeAttribute(i):this.setAttribute(i,n),this._$Em=null}}_$AK(t,e){const r=this.constructor,i=r._$Eh.get(t);if(i!==void 0&&this._$Em!==i){const n=r.getPropertyOptions(i),o=typeof n.converter=="function"?{fromAttribute:n.converter}:n.converter?.fromAttribute!==void 0?n.converter:D;this._$Em=i;const l=o.fromAttribute(e,n.type);this[i]=l??this._$Ej?.get(i)??l,this._$Em=null}}requestUpdate(t,e,r,i=!1,n){if(t!==void 0){const o=this.constructor;if(i===!1&&(n=this[t]),r??=o.getPropertyOptions(t),!((r.hasChanged??J)(n,e)||r.useDefault&&r.reflect&&n===this._$Ej?.get(t)&&!this.hasAttribute(o._$Eu(t,r))))return;this.C(t,e,r)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(t,e,{useDefault:r,reflect:i,wrapped:n},o){r&&!(this._$Ej??=new Map).has(t)&&(this._$Ej.set(t,o??e??this[t]),n!==!0||o!==void 0)||(this._$AL.has(t)||(this.hasUpdated||r||(e=void 0),this._$AL.set(t,e)),i===!0&&this._$Em!==t&&(this._$Eq??=new Set).add(t))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}const t=this.scheduleUpdate();return t!=null&&await t,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(const[i,n]of this._$Ep)this[i]=n;this._$Ep=void 0}const r=this.constructor.elementProperties;if(r.size>0)for(const[i,n]of r){const{wrapped:o}=n,l=this[i];o!==!0||this._$AL.has(i)||l===void 0||this.C(i,void 0,n,l)}}let t=!1;const e=this._$AL;try{t=this.shouldUpdate(e),t?(this.willUpdate(e),this._$EO?.forEach(r=>r.hostUpdate?.()),this.update(e)):this._$EM()}catch(r){throw t=!1,this._$EM(),r}t&&this._$AE(e)}willUpdate(t){}_$AE(t){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(t)),this.updated(t)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(t){return!0}update(t){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(t){}firstUpdated(t){}};x.elementStyles=[],x.shadowRootOptions={mode:"open"},x[C("elementProperties")]=new Map,x[C("finalized")]=new Map,Tt?.({ReactiveElement:x}),(I.reactiveElementVersions??=[]).push("2.1.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const G=globalThis,rt=s=>s,q=G.trustedTypes,it=q?q.createPolicy("lit-html",{createHTML:s=>s}):void 0,mt="$lit$",v=`lit$${Math.random().toFixed(9).slice(2)}$`,ft="?"+v,Ot=`<${ft}>`,w=document,U=()=>w.createComment(""),N=s=>s===null||typeof s!="object"&&typeof s!="function",Z=Array.isArray,Ct=s=>Z(s)||typeof s?.[Symbol.iterator]=="function",V=`[ 	
\f\r]`,O=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,nt=/-->/g,ot=/>/g,y=RegExp(`>|${V}(?:([^\\s"'>=/]+)(${V}*=${V}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),at=/'/g,lt=/"/g,gt=/^(?:script|style|textarea|title)$/i,$t=s=>(t,...e)=>({_$litType$:s,strings:t,values:e}),g=$t(1),$e=$t(2),k=Symbol.for("lit-noChange"),u=Symbol.for("lit-nothing"),ht=new WeakMap,b=w.createTreeWalker(w,129);function vt(s,t){if(!Z(s)||!s.hasOwnProperty("raw"))throw Error("invalid template strings array");return it!==void 0?it.createHTML(t):t}const Rt=(s,t)=>{const e=s.length-1,r=[];let i,n=t===2?"<svg>":t===3?"<math>":"",o=O;for(let l=0;l<e;l++){const a=s[l];let h,d,c=-1,p=0;for(;p<a.length&&(o.lastIndex=p,d=o.exec(a),d!==null);)p=o.lastIndex,o===O?d[1]==="!--"?o=nt:d[1]!==void 0?o=ot:d[2]!==void 0?(gt.test(d[2])&&(i=RegExp("</"+d[2],"g")),o=y):d[3]!==void 0&&(o=y):o===y?d[0]===">"?(o=i??O,c=-1):d[1]===void 0?c=-2:(c=o.lastIndex-d[2].length,h=d[1],o=d[3]===void 0?y:d[3]==='"'?lt:at):o===lt||o===at?o=y:o===nt||o===ot?o=O:(o=y,i=void 0);const m=o===y&&s[l+1].startsWith("/>")?" ":"";n+=o===O?a+Ot:c>=0?(r.push(h),a.slice(0,c)+mt+a.slice(c)+v+m):a+v+(c===-2?l:m)}return[vt(s,n+(s[e]||"<?>")+(t===2?"</svg>":t===3?"</math>":"")),r]};class M{constructor({strings:t,_$litType$:e},r){let i;this.parts=[];let n=0,o=0;const l=t.length-1,a=this.parts,[h,d]=Rt(t,e);if(this.el=M.createElement(h,r),b.currentNode=this.el.content,e===2||e===3){const c=this.el.content.firstChild;c.replaceWith(...c.childNodes)}for(;(i=b.nextNode())!==null&&a.length<l;){if(i.nodeType===1){if(i.hasAttributes())for(const c of i.getAttributeNames())if(c.endsWith(mt)){const p=d[o++],m=i.getAttribute(c).split(v),E=/([.?@])?(.*)/.exec(p);a.push({type:1,index:n,name:E[2],strings:m,ctor:E[1]==="."?Nt:E[1]==="?"?Mt:E[1]==="@"?jt:z}),i.removeAttribute(c)}else c.startsWith(v)&&(a.push({type:6,index:n}),i.removeAttribute(c));if(gt.test(i.tagName)){const c=i.textContent.split(v),p=c.length-1;if(p>0){i.textContent=q?q.emptyScript:"";for(let m=0;m<p;m++)i.append(c[m],U()),b.nextNode(),a.push({type:2,index:++n});i.append(c[p],U())}}}else if(i.nodeType===8)if(i.data===ft)a.push({type:2,index:n});else{let c=-1;for(;(c=i.data.indexOf(v,c+1))!==-1;)a.push({type:7,index:n}),c+=v.length-1}n++}}static createElement(t,e){const r=w.createElement("template");return r.innerHTML=t,r}}function P(s,t,e=s,r){if(t===k)return t;let i=r!==void 0?e._$Co?.[r]:e._$Cl;const n=N(t)?void 0:t._$litDirective$;return i?.constructor!==n&&(i?._$AO?.(!1),n===void 0?i=void 0:(i=new n(s),i._$AT(s,e,r)),r!==void 0?(e._$Co??=[])[r]=i:e._$Cl=i),i!==void 0&&(t=P(s,i._$AS(s,t.values),i,r)),t}class Ut{constructor(t,e){this._$AV=[],this._$AN=void 0,this._$AD=t,this._$AM=e}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(t){const{el:{content:e},parts:r}=this._$AD,i=(t?.creationScope??w).importNode(e,!0);b.currentNode=i;let n=b.nextNode(),o=0,l=0,a=r[0];for(;a!==void 0;){if(o===a.index){let h;a.type===2?h=new T(n,n.nextSibling,this,t):a.type===1?h=new a.ctor(n,a.name,a.strings,this,t):a.type===6&&(h=new Ht(n,this,t)),this._$AV.push(h),a=r[++l]}o!==a?.index&&(n=b.nextNode(),o++)}return b.currentNode=w,i}p(t){let e=0;for(const r of this._$AV)r!==void 0&&(r.strings!==void 0?(r._$AI(t,r,e),e+=r.strings.length-2):r._$AI(t[e])),e++}}class T{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(t,e,r,i){this.type=2,this._$AH=u,this._$AN=void 0,this._$AA=t,this._$AB=e,this._$AM=r,this.options=i,this._$Cv=i?.isConnected??!0}get parentNode(){let t=this._$AA.parentNode;const e=this._$AM;return e!==void 0&&t?.nodeType===11&&(t=e.parentNode),t}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(t,e=this){t=P(this,t,e),N(t)?t===u||t==null||t===""?(this._$AH!==u&&this._$AR(),this._$AH=u):t!==this._$AH&&t!==k&&this._(t):t._$litType$!==void 0?this.$(t):t.nodeType!==void 0?this.T(t):Ct(t)?this.k(t):this._(t)}O(t){return this._$AA.parentNode.insertBefore(t,this._$AB)}T(t){this._$AH!==t&&(this._$AR(),this._$AH=this.O(t))}_(t){this._$AH!==u&&N(this._$AH)?this._$AA.nextSibling.data=t:this.T(w.createTextNode(t)),this._$AH=t}$(t){const{values:e,_$litType$:r}=t,i=typeof r=="number"?this._$AC(t):(r.el===void 0&&(r.el=M.createElement(vt(r.h,r.h[0]),this.options)),r);if(this._$AH?._$AD===i)this._$AH.p(e);else{const n=new Ut(i,this),o=n.u(this.options);n.p(e),this.T(o),this._$AH=n}}_$AC(t){let e=ht.get(t.strings);return e===void 0&&ht.set(t.strings,e=new M(t)),e}k(t){Z(this._$AH)||(this._$AH=[],this._$AR());const e=this._$AH;let r,i=0;for(const n of t)i===e.length?e.push(r=new T(this.O(U()),this.O(U()),this,this.options)):r=e[i],r._$AI(n),i++;i<e.length&&(this._$AR(r&&r._$AB.nextSibling,i),e.length=i)}_$AR(t=this._$AA.nextSibling,e){for(this._$AP?.(!1,!0,e);t!==this._$AB;){const r=rt(t).nextSibling;rt(t).remove(),t=r}}setConnected(t){this._$AM===void 0&&(this._$Cv=t,this._$AP?.(t))}}class z{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(t,e,r,i,n){this.type=1,this._$AH=u,this._$AN=void 0,this.element=t,this.name=e,this._$AM=i,this.options=n,r.length>2||r[0]!==""||r[1]!==""?(this._$AH=Array(r.length-1).fill(new String),this.strings=r):this._$AH=u}_$AI(t,e=this,r,i){const n=this.strings;let o=!1;if(n===void 0)t=P(this,t,e,0),o=!N(t)||t!==this._$AH&&t!==k,o&&(this._$AH=t);else{const l=t;let a,h;for(t=n[0],a=0;a<n.length-1;a++)h=P(this,l[r+a],e,a),h===k&&(h=this._$AH[a]),o||=!N(h)||h!==this._$AH[a],h===u?t=u:t!==u&&(t+=(h??"")+n[a+1]),this._$AH[a]=h}o&&!i&&this.j(t)}j(t){t===u?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,t??"")}}class Nt extends z{constructor(){super(...arguments),this.type=3}j(t){this.element[this.name]=t===u?void 0:t}}class Mt extends z{constructor(){super(...arguments),this.type=4}j(t){this.element.toggleAttribute(this.name,!!t&&t!==u)}}class jt extends z{constructor(t,e,r,i,n){super(t,e,r,i,n),this.type=5}_$AI(t,e=this){if((t=P(this,t,e,0)??u)===k)return;const r=this._$AH,i=t===u&&r!==u||t.capture!==r.capture||t.once!==r.once||t.passive!==r.passive,n=t!==u&&(r===u||i);i&&this.element.removeEventListener(this.name,this,r),n&&this.element.addEventListener(this.name,this,t),this._$AH=t}handleEvent(t){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)}}class Ht{constructor(t,e,r){this.element=t,this.type=6,this._$AN=void 0,this._$AM=e,this.options=r}get _$AU(){return this._$AM._$AU}_$AI(t){P(this,t)}}const ve={I:T},Lt=G.litHtmlPolyfillSupport;Lt?.(M,T),(G.litHtmlVersions??=[]).push("3.3.3");const Dt=(s,t,e)=>{const r=e?.renderBefore??t;let i=r._$litPart$;if(i===void 0){const n=e?.renderBefore??null;r._$litPart$=i=new T(t.insertBefore(U(),n),n,void 0,e??{})}return i._$AI(s),i};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const X=globalThis;class R extends x{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){const t=super.createRenderRoot();return this.renderOptions.renderBefore??=t.firstChild,t}update(t){const e=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(t),this._$Do=Dt(e,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return k}}R._$litElement$=!0,R.finalized=!0,X.litElementHydrateSupport?.({LitElement:R});const qt=X.litElementPolyfillSupport;qt?.({LitElement:R});(X.litElementVersions??=[]).push("4.2.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const It=s=>(t,e)=>{e!==void 0?e.addInitializer(()=>{customElements.define(s,t)}):customElements.define(s,t)};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const zt={attribute:!0,type:String,converter:D,reflect:!1,hasChanged:J},Vt=(s=zt,t,e)=>{const{kind:r,metadata:i}=e;let n=globalThis.litPropertyMetadata.get(i);if(n===void 0&&globalThis.litPropertyMetadata.set(i,n=new Map),r==="setter"&&((s=Object.create(s)).wrapped=!0),n.set(e.name,s),r==="accessor"){const{name:o}=e;return{set(l){const a=t.get.call(this);t.set.call(this,l),this.requestUpdate(o,a,s,!0,l)},init(l){return l!==void 0&&this.C(o,void 0,s,l),l}}}if(r==="setter"){const{name:o}=e;return function(l){const a=this[o];t.call(this,l),this.requestUpdate(o,a,s,!0,l)}}throw Error("Unsupported decorator location: "+r)};function Bt(s){return(t,e)=>typeof e=="object"?Vt(s,t,e):((r,i,n)=>{const o=i.hasOwnProperty(n);return i.constructor.createProperty(n,r),o?Object.getOwnPropertyDescriptor(i,n):void 0})(s,t,e)}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function j(s){return Bt({...s,state:!0,attribute:!1})}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Kt=(s,t,e)=>(e.configurable=!0,e.enumerable=!0,Reflect.decorate&&typeof t!="object"&&Object.defineProperty(s,t,e),e);/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function Wt(s,t){return(e,r,i)=>{const n=o=>o.renderRoot?.querySelector(s)??null;return Kt(e,r,{get(){return n(this)}})}}/**
 * @license
 * Copyright 2020 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const yt=Symbol.for(""),Ft=s=>{if(s?.r===yt)return s?._$litStatic$},Jt=s=>({_$litStatic$:s,r:yt}),ct=new Map,Gt=s=>(t,...e)=>{const r=e.length;let i,n;const o=[],l=[];let a,h=0,d=!1;for(;h<r;){for(a=t[h];h<r&&(n=e[h],(i=Ft(n))!==void 0);)a+=i+t[++h],d=!0;h!==r&&l.push(n),o.push(a),h++}if(h===r&&o.push(t[r]),d){const c=o.join("$$lit$$");(t=ct.get(c))===void 0&&(o.raw=o,ct.set(c,t=o)),e=l}return s(t,...e)},Zt=Gt(g),Xt=F`
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  :host {
    display: block;
  }
  [hidden] {
    display: none !important;
  }
  h1,
  h2,
  h3 {
    line-height: 1.2;
    margin: 0 0 0.5em;
    text-wrap: balance;
  }
  h1 {
    font-size: 1.5rem;
    font-weight: 650;
    letter-spacing: -0.01em;
  }
  h2 {
    font-size: 1.05rem;
  }
  a {
    color: var(--accent-text);
  }
  button,
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
  }
  button {
    background: var(--surface-2);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.4rem 0.8rem;
    cursor: pointer;
  }
  button:hover:not(:disabled) {
    border-color: var(--accent);
  }
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
  }
  button.quiet {
    background: none;
    border-color: transparent;
  }
  button:disabled {
    opacity: 0.55;
    cursor: default;
  }
  input:not([type="checkbox"], [type="radio"], [type="range"]),
  select,
  textarea {
    background: var(--surface);
    border: 1px solid var(--line-strong);
    border-radius: 8px;
    padding: 0.4rem 0.6rem;
    min-width: 0;
  }
  input[type="range"],
  input[type="checkbox"],
  input[type="radio"] {
    accent-color: var(--accent);
  }
  :is(button, input, select, textarea, a, summary, [tabindex]):focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  label {
    display: grid;
    gap: 0.25rem;
    font-size: 0.875rem;
  }
  label.inline {
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: center;
  }
  .muted {
    color: var(--muted);
  }
  .card {
    background: var(--surface);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 1rem;
  }
  .figures {
    font-variant-numeric: tabular-nums;
    font-size: 0.875rem;
    color: var(--muted);
  }
  .error {
    color: var(--error);
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`,ye=F`
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    font-size: 0.9rem;
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    text-align: right;
    padding: 0.3rem 1rem 0.3rem 0;
    border-bottom: 1px solid var(--line);
    white-space: nowrap;
  }
  :is(th, td):first-child {
    text-align: left;
  }
  th {
    font-weight: 500;
    color: var(--muted);
  }
`;async function*B(s){const t=s.pipeThrough(new TextDecoderStream).getReader();let e="",r={event:"message",id:"",data:[]};try{for(;;){const{value:i,done:n}=await t.read(),o=(e+(i??"")).split(n?/\r\n|\r|\n/:/\r\n|\r(?!$)|\n/);e=o.pop()??"";for(const l of o){if(l===""){r.data.length>0&&(yield{...r,data:r.data.join(`
`)}),r={event:"message",id:"",data:[]};continue}const[,a,h]=/^([^:]*)(?:: ?(.*))?$/s.exec(l)??[];a==="data"?r.data.push(h??""):a==="event"?r.event=h??"":a==="id"&&(r.id=h??"")}if(n)return}}finally{await t.cancel().catch(()=>{})}}class _ extends Error{constructor(t,e){super(e.message),this.status=t,this.detail=e,this.name="ApiError"}}const Yt={context_length:null,capabilities:[],loaded:!0,sfumato:{noise:null,canvas_length:1,steps:null,max_tokens:null,tasks:[],kinds:[],parameters:[]}},Qt=[50,100,300,1e3,1e3,2e3,3e3,3e3];class te{constructor(t="",e=(i,n)=>fetch(i,n),r=sessionStorage.getItem("key")??""){this.base=t,this.fetcher=e,this.key=r,this.askForKey=()=>Promise.resolve(null),this.asking=null}async models(){const{data:t}=await this.json("GET","/v1/models");return t.map(e=>({...Yt,...e}))}async createCanvases(t){const e=await this.json("POST","/v1/canvas",{...t,background:!0});return"data"in e?e.data:[e]}async createCanvas(t){const[e]=await this.createCanvases(t);if(e===void 0)throw new _(0,{message:"the server made no canvas"});return e}canvas(t){return this.json("GET",`/v1/canvas/${t}`)}edit(t,e,r){return this.json("POST",`/v1/canvas/${t}/edits`,e,r)}async addPicture(t,e){await this.json("POST",`/v1/canvas/${t}/assets`,e)}undo(t,e){return this.json("POST",`/v1/canvas/${t}/undo`,{base_rev:e})}async revisions(t){return(await this.json("GET",`/v1/canvas/${t}/revisions`)).data}async deleteCanvas(t){await this.json("DELETE",`/v1/canvas/${t}`)}async*follow(t,e={}){let{after:r}=e;for(let i=0;;)try{const n=`/v1/canvas/${t}/events${r===void 0?"":`?after=${r}`}`,o=await this.request("GET",n,void 0,e.signal);for await(const{data:l}of B(o.body??new Blob().stream())){const a=JSON.parse(l),h=a.type==="canvas.snapshot";if(!(r!==void 0&&(h?a.seq<r:a.seq<=r))){if(!h&&r!==void 0&&a.seq>r+1)throw new _(0,{message:"events are missing"});if(i=0,r=a.seq,yield a,e.pictures!==!0&&(a.type==="canvas.done"||a.type==="canvas.error"||a.type==="canvas.snapshot"&&a.status!=="running"))return}}if(e.pictures===!0&&!ee(await this.canvas(t)))return;throw new _(0,{message:"the connection ended"})}catch(n){if(e.signal?.aborted===!0)return;const o=Qt[i++];if(o===void 0||n instanceof _&&n.status!==0)throw n;await new Promise(l=>setTimeout(l,o))}}async*stream(t,e){const r=await this.request("POST","/v1/canvas",{...t,stream:!0},e);if(r.body!==null)for await(const{data:i}of B(r.body))yield JSON.parse(i)}async*chat(t,e){const r={...t,stream:!0,stream_options:{include_usage:!0}},i=await this.request("POST","/v1/chat/completions",r,e);if(i.body!==null)for await(const{data:n}of B(i.body)){if(n==="[DONE]")return;const o=JSON.parse(n);if("error"in o)throw new _(i.status,o.error);yield o}}async json(t,e,r,i){return await(await this.request(t,e,r,i)).json()}async newKey(){this.asking??=this.askForKey().finally(()=>this.asking=null);const t=await this.asking;return t!==null&&sessionStorage.setItem("key",this.key=t),t}async request(t,e,r,i){const n=typeof r=="string"||r instanceof FormData,{key:o}=this,l=o===""?{}:{Authorization:`Bearer ${o}`};r!==void 0&&!n&&(l["Content-Type"]="application/json");let a;try{a=await this.fetcher(this.base+e,{method:t,headers:l,body:n?r:r===void 0?null:JSON.stringify(r),signal:i??null})}catch(d){throw i?.aborted===!0?d:new _(0,{message:"the server cannot be reached; is it running?"})}if(a.ok)return a;if(a.status===401&&(this.key!==o||await this.newKey()!==null))return this.request(t,e,r,i);const h=await a.json().catch(()=>null);throw new _(a.status,h?.error??{message:`the server answered ${a.status}`})}}function ee({status:s,assets:t=[]}){return s==="running"||t.some(e=>e.status==="pending")}const se=new te;function re(s,t){try{const e=localStorage.getItem(`sfumato.${s}`);return e===null?t:JSON.parse(e)}catch{return t}}function ie(s,t){try{localStorage.setItem(`sfumato.${s}`,JSON.stringify(t))}catch{}}const ne=(function(){const t=typeof document<"u"&&document.createElement("link").relList;return t&&t.supports&&t.supports("modulepreload")?"modulepreload":"preload"})(),oe=function(s){return"/"+s},dt={},f=function(t,e,r){let i=Promise.resolve();if(e&&e.length>0){let o=function(h){return Promise.all(h.map(d=>Promise.resolve(d).then(c=>({status:"fulfilled",value:c}),c=>({status:"rejected",reason:c}))))};document.getElementsByTagName("link");const l=document.querySelector("meta[property=csp-nonce]"),a=l?.nonce||l?.getAttribute("nonce");i=o(e.map(h=>{if(h=oe(h),h in dt)return;dt[h]=!0;const d=h.endsWith(".css"),c=d?'[rel="stylesheet"]':"";if(document.querySelector(`link[href="${h}"]${c}`))return;const p=document.createElement("link");if(p.rel=d?"stylesheet":ne,d||(p.as="script"),p.crossOrigin="",p.href=h,a&&p.setAttribute("nonce",a),document.head.appendChild(p),d)return new Promise((m,E)=>{p.addEventListener("load",m),p.addEventListener("error",()=>E(new Error(`Unable to preload CSS for ${h}`)))})}))}function n(o){const l=new Event("vite:preloadError",{cancelable:!0});if(l.payload=o,window.dispatchEvent(l),!l.defaultPrevented)throw o}return i.then(o=>{for(const l of o||[])l.status==="rejected"&&n(l.reason);return t().catch(n)})},L=[{path:"/canvas",title:"Canvas",summary:"Watch a text form, step through it, and change it in place.",group:"studio",tag:"sf-canvas-page",load:()=>f(()=>import("./canvas-BvptHIDn.js"),__vite__mapDeps([0,1,2,3,4,5]))},{path:"/editor",title:"Editor",summary:"Have a file revised where you say, and only there.",group:"studio",tag:"sf-editor-page",load:()=>f(()=>import("./editor-CctrmhMY.js"),__vite__mapDeps([6,7,8,2,9]))},{path:"/race",title:"Race",summary:"Two models, one prompt, true clocks.",group:"studio",tag:"sf-race-page",load:()=>f(()=>import("./race-WLTH8ipB.js"),__vite__mapDeps([10,11,12,3,2,1]))},{path:"/structure",title:"Structure",summary:"A schema on the left, a form that fills itself on the right.",group:"studio",tag:"sf-structure-page",load:()=>f(()=>import("./structure-BMnKx7FY.js"),__vite__mapDeps([13,7,14,2,8,3,15,5]))},{path:"/cost",title:"Cost",summary:"Steps, positions, queue and speed of this server, live.",group:"studio",tag:"sf-cost-page",load:()=>f(()=>import("./cost-DIBGtami.js"),__vite__mapDeps([16,11]))},{path:"/tab",title:"Tab",summary:"A model in this browser, without a server or a network.",group:"studio",tag:"sf-tab-page",load:()=>f(()=>import("./tab-DkQpt8-3.js"),__vite__mapDeps([17,1,2,3,4,5])),isAlone:!0},{path:"/todo",title:"To-do",summary:"Say what the list should be; say how to change it.",group:"apps",tag:"sf-todo-page",load:()=>f(()=>import("./todo-DOeyb5yF.js"),__vite__mapDeps([18,19,15,20,12,3,2,5,14,8]))},{path:"/encyclopedia",title:"Encyclopedia",summary:"A page on any topic, written when you open it; each link leads to a further one.",group:"apps",tag:"sf-encyclopedia-page",load:()=>f(()=>import("./encyclopedia-E9P8x1Sp.js"),__vite__mapDeps([21,8,2,22,1,3,19,12,9,15]))},{path:"/forum",title:"Forum",summary:"Posts, votes and comments on any topic, by a model and by you.",group:"apps",tag:"sf-forum-page",load:()=>f(()=>import("./forum-CKxe-KFY.js"),__vite__mapDeps([23,8,2,3,22,1,19,12,9,15]))},{path:"/desktop",title:"Desktop",summary:"Apps that are made when you open them, each in its window.",group:"apps",tag:"sf-desktop-page",load:()=>f(()=>import("./desktop-B52qMAkj.js"),__vite__mapDeps([24,8,2,15,20,12,3,5,14,19]))}];function S(s){return L.find(t=>s===t.path||s.startsWith(`${t.path}/`))}function ae(s){const t=s.split("/").slice(2).join("/");try{return decodeURIComponent(t)}catch{return t}}function le(s,{replace:t=!1}={}){history[t?"replaceState":"pushState"](null,"",s),t||window.scrollTo(0,0),window.dispatchEvent(new PopStateEvent("popstate"))}function Y(s){window.dispatchEvent(new CustomEvent("sf-say",{detail:s}))}function _e(s,t){Y({text:s,kind:"note",quiet:!1,action:t})}function be(s){Y({text:s,kind:"note",quiet:!0})}function he(s){return s instanceof DOMException&&s.name==="AbortError"}function ce(s){return s instanceof Error?s.message:String(s)}function ut(s){he(s)||Y({text:ce(s),kind:"error",quiet:!1})}var de=Object.defineProperty,ue=Object.getOwnPropertyDescriptor,A=(s,t,e,r)=>{for(var i=r>1?void 0:r?ue(t,e):t,n=s.length-1,o;n>=0;n--)(o=s[n])&&(i=(r?o(t,e,i):o(i))||i);return r&&i&&de(t,e,i),i};const pe=6e3,me={system:"light",light:"dark",dark:"system"};let $=class extends R{constructor(){super(...arguments),this.path=location.pathname,this.loaded=new Set,this.theme=re("theme","system"),this.shown=null,this.spoken="",this.hiding=0}connectedCallback(){super.connectedCallback(),this.applyTheme(),addEventListener("popstate",()=>{this.path=location.pathname,this.openPage()}),addEventListener("sf-say",({detail:s})=>{this.spoken=s.text,!s.quiet&&(this.shown=s,clearTimeout(this.hiding),this.hiding=window.setTimeout(()=>this.shown=null,pe))}),addEventListener("unhandledrejection",s=>ut(s.reason)),se.askForKey=()=>this.askForKey(),this.openPage()}firstUpdated(){const s=this.renderRoot.querySelector("nav");s!==null&&new ResizeObserver(()=>this.showLink()).observe(s)}updated(s){s.has("path")&&this.showLink()}showLink(){this.renderRoot.querySelector("nav [aria-current]")?.scrollIntoView({block:"nearest",inline:"center"})}openPage(){const s=S(this.path);document.title=s===void 0?"Sfumato":`${s.title} · Sfumato`,!(s===void 0||this.loaded.has(s.tag))&&s.load().then(()=>this.loaded=new Set([...this.loaded,s.tag]),ut)}async askForKey(){await this.updateComplete;const s=this.keyDialog;return s.returnValue="",s.showModal(),await new Promise(t=>{s.addEventListener("close",t,{once:!0})}),s.returnValue==="ok"&&s.querySelector("input")?.value||null}changeTheme(){this.theme=me[this.theme],ie("theme",this.theme),this.applyTheme()}applyTheme(){document.documentElement.dataset.theme=this.theme}onClick(s){const t=s.composedPath().find(r=>r instanceof HTMLAnchorElement),e=s.button===0&&!(s.ctrlKey||s.metaKey||s.shiftKey||s.altKey);t===void 0||!e||t.target!==""||t.hasAttribute("download")||t.origin!==location.origin||t.pathname!=="/"&&S(t.pathname)===void 0||S(t.pathname)?.isAlone===!0||S(this.path)?.isAlone===!0||(s.preventDefault(),le(t.pathname+t.search+t.hash))}link(s){return g`<a href=${s.path} aria-current=${S(this.path)===s?"page":u}
      >${s.title}</a
    >`}render(){const s=S(this.path);return g`<div style="display: contents" @click=${this.onClick}>
      <header>
        <a class="name" href="/"><img src="/icon.svg" width="26" height="26" alt="" />Sfumato</a>
        <nav aria-label="Pages">
          ${L.filter(({group:t})=>t==="studio").map(t=>this.link(t))}
          <span class="gap"></span>
          ${L.filter(({group:t})=>t==="apps").map(t=>this.link(t))}
        </nav>
        <button class="quiet" @click=${this.changeTheme}>Theme: ${this.theme}</button>
      </header>
      <main>${s===void 0?this.overview():this.page(s)}</main>
      ${this.shown===null?u:g`<div class="saying ${this.shown.kind}">
              <span>${this.shown.text}</span>
              ${this.action(this.shown)}
              <button class="quiet" aria-label="Close the message" @click=${()=>this.shown=null}>
                ✕
              </button>
            </div>`}
      <div class="visually-hidden" role="status" aria-live="polite">${this.spoken}</div>
      <dialog aria-labelledby="key-title">
        <form method="dialog">
          <h2 id="key-title">This server wants a key</h2>
          <label>Key <input type="password" autocomplete="off" autofocus /></label>
          <div class="row">
            <button class="primary" value="ok">Use it</button>
            <button value="">Cancel</button>
          </div>
        </form>
      </dialog>
    </div>`}action({action:s}){return s===void 0?u:g`<button class="quiet" @click=${()=>{this.shown=null,s.run()}}>${s.label}</button>`}page(s){if(!this.loaded.has(s.tag))return g`<p class="muted" role="status">Opening ${s.title} …</p>`;const t=Jt(s.tag);return Zt`<${t} .place=${ae(this.path)}></${t}>`}overview(){const s=t=>g`<ul class="pages">
        ${L.filter(e=>e.group===t).map(e=>g`<li>
                <a class="card" href=${e.path}
                  ><strong>${e.title}</strong><span class="muted">${e.summary}</span></a
                >
              </li>`)}
      </ul>`;return g`<h1>Text that forms, is revised, and answers to you</h1>
      <p class="muted">Every page asks this server alone; nothing leaves the machine.</p>
      <h2>Studio</h2>
      ${s("studio")}
      <h2>Apps</h2>
      ${s("apps")}`}};$.styles=[Xt,F`
      :host {
        min-height: 100dvh;
        display: grid;
        grid-template: auto 1fr / minmax(0, 1fr);
      }
      header {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.25rem 1rem;
        padding: 0.6rem 1rem;
        border-bottom: 1px solid var(--line);
        background: var(--surface);
      }
      .name {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        font-weight: 650;
        color: inherit;
        text-decoration: none;
      }
      nav {
        display: flex;
        flex: 1;
        gap: 0.1rem;
        overflow-x: auto;
        scrollbar-width: none;
      }
      @media (max-width: 48rem) {
        header {
          justify-content: space-between;
        }
        nav {
          order: 1;
          flex-basis: 100%;
          /* That there are more pages is to be seen. */
          mask-image: linear-gradient(to left, transparent, black 2.5rem);
          padding-right: 2rem;
        }
      }
      nav a {
        padding: 0.3rem 0.6rem;
        border-radius: 8px;
        color: var(--muted);
        text-decoration: none;
        white-space: nowrap;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        background: var(--surface-2);
        color: var(--accent-text);
      }
      nav .gap {
        border-left: 1px solid var(--line);
        margin: 0.3rem 0.4rem;
      }
      main {
        padding: 1.25rem 1rem 3rem;
        max-width: 82rem;
        width: 100%;
        margin-inline: auto;
        min-width: 0;
      }
      .pages {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr));
        gap: 0.75rem;
        list-style: none;
        padding: 0;
        margin: 0 0 2rem;
      }
      .pages a {
        display: block;
        height: 100%;
        color: inherit;
        text-decoration: none;
      }
      .pages a:hover {
        border-color: var(--accent);
      }
      .pages strong {
        display: block;
      }
      .saying {
        position: fixed;
        inset: auto 1rem 1rem;
        margin-inline: auto;
        width: fit-content;
        max-width: min(40rem, 100% - 2rem);
        display: flex;
        gap: 0.75rem;
        align-items: center;
        background: var(--text);
        color: var(--bg);
        border-radius: 10px;
        padding: 0.6rem 0.6rem 0.6rem 1rem;
        z-index: 10;
      }
      .saying.error {
        background: var(--error);
        color: var(--bg);
      }
      dialog {
        border: 1px solid var(--line);
        border-radius: 12px;
        background: var(--surface);
        color: inherit;
        width: min(26rem, 100% - 2rem);
      }
      dialog form {
        display: grid;
        gap: 0.75rem;
      }
    `];A([j()],$.prototype,"path",2);A([j()],$.prototype,"loaded",2);A([j()],$.prototype,"theme",2);A([j()],$.prototype,"shown",2);A([j()],$.prototype,"spoken",2);A([Wt("dialog")],$.prototype,"keyDialog",2);$=A([It("sf-app")],$);export{u as A,k as E,_ as a,be as b,se as c,g as d,Xt as e,Wt as f,R as g,he as h,F as i,ve as j,le as k,_t as l,ce as m,Bt as n,ie as o,re as p,ut as q,j as r,_e as s,It as t,ye as u,$e as w};
