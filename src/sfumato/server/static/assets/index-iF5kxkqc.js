const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/canvas-p3ylSbxA.js","assets/canvas-DaO1ex7E.js","assets/offsets-EgNy2a1f.js","assets/take-CQINWBEi.js","assets/canvas-DS9N_J7d.js","assets/editor-D5z3xVu8.js","assets/code-0VB7YPsG.js","assets/repeat-DxlbllGB.js","assets/race-C9br6387.js","assets/intervals-4lRxG4fx.js","assets/structure-BuG1Bx9Y.js","assets/steps-DYch-8T4.js","assets/cost-B_QU-Abl.js","assets/todo-hEj1BVK7.js","assets/screen-CDV6dfeF.js","assets/desktop-BoJJZ-gk.js"])))=>i.map(i=>d[i]);
/**
 * @license
 * Copyright 2019 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const D=globalThis,W=D.ShadowRoot&&(D.ShadyCSS===void 0||D.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,K=Symbol(),Q=new WeakMap;let pt=class{constructor(t,e,s){if(this._$cssResult$=!0,s!==K)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=t,this.t=e}get styleSheet(){let t=this.o;const e=this.t;if(W&&t===void 0){const s=e!==void 0&&e.length===1;s&&(t=Q.get(e)),t===void 0&&((this.o=t=new CSSStyleSheet).replaceSync(this.cssText),s&&Q.set(e,t))}return t}toString(){return this.cssText}};const _t=i=>new pt(typeof i=="string"?i:i+"",void 0,K),F=(i,...t)=>{const e=i.length===1?i[0]:t.reduce((s,r,n)=>s+(o=>{if(o._$cssResult$===!0)return o.cssText;if(typeof o=="number")return o;throw Error("Value passed to 'css' function must be a 'css' function result: "+o+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(r)+i[n+1],i[0]);return new pt(e,i,K)},bt=(i,t)=>{if(W)i.adoptedStyleSheets=t.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(const e of t){const s=document.createElement("style"),r=D.litNonce;r!==void 0&&s.setAttribute("nonce",r),s.textContent=e.cssText,i.appendChild(s)}},tt=W?i=>i:i=>i instanceof CSSStyleSheet?(t=>{let e="";for(const s of t.cssRules)e+=s.cssText;return _t(e)})(i):i;/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const{is:wt,defineProperty:At,getOwnPropertyDescriptor:Et,getOwnPropertyNames:St,getOwnPropertySymbols:xt,getPrototypeOf:kt}=Object,I=globalThis,et=I.trustedTypes,Pt=et?et.emptyScript:"",Ct=I.reactiveElementPolyfillSupport,T=(i,t)=>i,L={toAttribute(i,t){switch(t){case Boolean:i=i?Pt:null;break;case Object:case Array:i=i==null?i:JSON.stringify(i)}return i},fromAttribute(i,t){let e=i;switch(t){case Boolean:e=i!==null;break;case Number:e=i===null?null:Number(i);break;case Object:case Array:try{e=JSON.parse(i)}catch{e=null}}return e}},J=(i,t)=>!wt(i,t),st={attribute:!0,type:String,converter:L,reflect:!1,useDefault:!1,hasChanged:J};Symbol.metadata??=Symbol("metadata"),I.litPropertyMetadata??=new WeakMap;let S=class extends HTMLElement{static addInitializer(t){this._$Ei(),(this.l??=[]).push(t)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(t,e=st){if(e.state&&(e.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(t)&&((e=Object.create(e)).wrapped=!0),this.elementProperties.set(t,e),!e.noAccessor){const s=Symbol(),r=this.getPropertyDescriptor(t,s,e);r!==void 0&&At(this.prototype,t,r)}}static getPropertyDescriptor(t,e,s){const{get:r,set:n}=Et(this.prototype,t)??{get(){return this[e]},set(o){this[e]=o}};return{get:r,set(o){const l=r?.call(this);n?.call(this,o),this.requestUpdate(t,l,s)},configurable:!0,enumerable:!0}}static getPropertyOptions(t){return this.elementProperties.get(t)??st}static _$Ei(){if(this.hasOwnProperty(T("elementProperties")))return;const t=kt(this);t.finalize(),t.l!==void 0&&(this.l=[...t.l]),this.elementProperties=new Map(t.elementProperties)}static finalize(){if(this.hasOwnProperty(T("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(T("properties"))){const e=this.properties,s=[...St(e),...xt(e)];for(const r of s)this.createProperty(r,e[r])}const t=this[Symbol.metadata];if(t!==null){const e=litPropertyMetadata.get(t);if(e!==void 0)for(const[s,r]of e)this.elementProperties.set(s,r)}this._$Eh=new Map;for(const[e,s]of this.elementProperties){const r=this._$Eu(e,s);r!==void 0&&this._$Eh.set(r,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(t){const e=[];if(Array.isArray(t)){const s=new Set(t.flat(1/0).reverse());for(const r of s)e.unshift(tt(r))}else t!==void 0&&e.push(tt(t));return e}static _$Eu(t,e){const s=e.attribute;return s===!1?void 0:typeof s=="string"?s:typeof t=="string"?t.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(t=>this.enableUpdating=t),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(t=>t(this))}addController(t){(this._$EO??=new Set).add(t),this.renderRoot!==void 0&&this.isConnected&&t.hostConnected?.()}removeController(t){this._$EO?.delete(t)}_$E_(){const t=new Map,e=this.constructor.elementProperties;for(const s of e.keys())this.hasOwnProperty(s)&&(t.set(s,this[s]),delete this[s]);t.size>0&&(this._$Ep=t)}createRenderRoot(){const t=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return bt(t,this.constructor.elementStyles),t}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(t=>t.hostConnected?.())}enableUpdating(t){}disconnectedCallback(){this._$EO?.forEach(t=>t.hostDisconnected?.())}attributeChangedCallback(t,e,s){this._$AK(t,s)}_$ET(t,e){const s=this.constructor.elementProperties.get(t),r=this.constructor._$Eu(t,s);if(r!==void 0&&s.reflect===!0){const n=(s.converter?.toAttribute!==void 0?s.converter:L).toAttribute(e,s.type);this._$Em=t,n==null?this.removeAttribute(r):this.setAttribute(r,n),this._$Em=null}}_$AK(t,e){const s=this.constructor,r=s._$Eh.get(t);if(r!==void 0&&this._$Em!==r){const n=s.getPropertyOptions(r),o=typeof n.converter=="function"?{fromAttribute:n.converter}:n.converter?.fromAttribute!==void 0?n.converter:L;this._$Em=r;const l=o.fromAttribute(e,n.type);this[r]=l??this._$Ej?.get(r)??l,this._$Em=null}}requestUpdate(t,e,s,r=!1,n){if(t!==void 0){const o=this.constructor;if(r===!1&&(n=this[t]),s??=o.getPropertyOptions(t),!((s.hasChanged??J)(n,e)||s.useDefault&&s.reflect&&n===this._$Ej?.get(t)&&!this.hasAttribute(o._$Eu(t,s))))return;this.C(t,e,s)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(t,e,{useDefault:s,reflect:r,wrapped:n},o){s&&!(this._$Ej??=new Map).has(t)&&(this._$Ej.set(t,o??e??this[t]),n!==!0||o!==void 0)||(this._$AL.has(t)||(this.hasUpdated||s||(e=void 0),this._$AL.set(t,e)),r===!0&&this._$Em!==t&&(this._$Eq??=new Set).add(t))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}const t=this.scheduleUpdate();return t!=null&&await t,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(const[r,n]of this._$Ep)this[r]=n;this._$Ep=void 0}const s=this.constructor.elementProperties;if(s.size>0)for(const[r,n]of s){const{wrapped:o}=n,l=this[r];o!==!0||this._$AL.has(r)||l===void 0||this.C(r,void 0,n,l)}}let t=!1;const e=this._$AL;try{t=this.shouldUpdate(e),t?(this.willUpdate(e),this._$EO?.forEach(s=>s.hostUpdate?.()),this.update(e)):this._$EM()}catch(s){throw t=!1,this._$EM(),s}t&&this._$AE(e)}willUpdate(t){}_$AE(t){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(t)),this.updated(t)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(t){return!0}update(t){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(t){}firstUpdated(t){}};S.elementStyles=[],S.shadowRootOptions={mode:"open"},S[T("elementProperties")]=new Map,S[T("finalized")]=new Map,Ct?.({ReactiveElement:S}),(I.reactiveElementVersions??=[]).push("2.1.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const G=globalThis,it=i=>i,q=G.trustedTypes,rt=q?q.createPolicy("lit-html",{createHTML:i=>i}):void 0,mt="$lit$",$=`lit$${Math.random().toFixed(9).slice(2)}$`,ft="?"+$,Tt=`<${ft}>`,w=document,U=()=>w.createComment(""),R=i=>i===null||typeof i!="object"&&typeof i!="function",Z=Array.isArray,Ot=i=>Z(i)||typeof i?.[Symbol.iterator]=="function",V=`[ 	
\f\r]`,C=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,nt=/-->/g,ot=/>/g,v=RegExp(`>|${V}(?:([^\\s"'>=/]+)(${V}*=${V}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),at=/'/g,lt=/"/g,gt=/^(?:script|style|textarea|title)$/i,$t=i=>(t,...e)=>({_$litType$:i,strings:t,values:e}),g=$t(1),me=$t(2),x=Symbol.for("lit-noChange"),u=Symbol.for("lit-nothing"),ht=new WeakMap,b=w.createTreeWalker(w,129);function vt(i,t){if(!Z(i)||!i.hasOwnProperty("raw"))throw Error("invalid template strings array");return rt!==void 0?rt.createHTML(t):t}const Ut=(i,t)=>{const e=i.length-1,s=[];let r,n=t===2?"<svg>":t===3?"<math>":"",o=C;for(let l=0;l<e;l++){const a=i[l];let h,d,c=-1,p=0;for(;p<a.length&&(o.lastIndex=p,d=o.exec(a),d!==null);)p=o.lastIndex,o===C?d[1]==="!--"?o=nt:d[1]!==void 0?o=ot:d[2]!==void 0?(gt.test(d[2])&&(r=RegExp("</"+d[2],"g")),o=v):d[3]!==void 0&&(o=v):o===v?d[0]===">"?(o=r??C,c=-1):d[1]===void 0?c=-2:(c=o.lastIndex-d[2].length,h=d[1],o=d[3]===void 0?v:d[3]==='"'?lt:at):o===lt||o===at?o=v:o===nt||o===ot?o=C:(o=v,r=void 0);const m=o===v&&i[l+1].startsWith("/>")?" ":"";n+=o===C?a+Tt:c>=0?(s.push(h),a.slice(0,c)+mt+a.slice(c)+$+m):a+$+(c===-2?l:m)}return[vt(i,n+(i[e]||"<?>")+(t===2?"</svg>":t===3?"</math>":"")),s]};class N{constructor({strings:t,_$litType$:e},s){let r;this.parts=[];let n=0,o=0;const l=t.length-1,a=this.parts,[h,d]=Ut(t,e);if(this.el=N.createElement(h,s),b.currentNode=this.el.content,e===2||e===3){const c=this.el.content.firstChild;c.replaceWith(...c.childNodes)}for(;(r=b.nextNode())!==null&&a.length<l;){if(r.nodeType===1){if(r.hasAttributes())for(const c of r.getAttributeNames())if(c.endsWith(mt)){const p=d[o++],m=r.getAttribute(c).split($),E=/([.?@])?(.*)/.exec(p);a.push({type:1,index:n,name:E[2],strings:m,ctor:E[1]==="."?Nt:E[1]==="?"?Mt:E[1]==="@"?jt:z}),r.removeAttribute(c)}else c.startsWith($)&&(a.push({type:6,index:n}),r.removeAttribute(c));if(gt.test(r.tagName)){const c=r.textContent.split($),p=c.length-1;if(p>0){r.textContent=q?q.emptyScript:"";for(let m=0;m<p;m++)r.append(c[m],U()),b.nextNode(),a.push({type:2,index:++n});r.append(c[p],U())}}}else if(r.nodeType===8)if(r.data===ft)a.push({type:2,index:n});else{let c=-1;for(;(c=r.data.indexOf($,c+1))!==-1;)a.push({type:7,index:n}),c+=$.length-1}n++}}static createElement(t,e){const s=w.createElement("template");return s.innerHTML=t,s}}function k(i,t,e=i,s){if(t===x)return t;let r=s!==void 0?e._$Co?.[s]:e._$Cl;const n=R(t)?void 0:t._$litDirective$;return r?.constructor!==n&&(r?._$AO?.(!1),n===void 0?r=void 0:(r=new n(i),r._$AT(i,e,s)),s!==void 0?(e._$Co??=[])[s]=r:e._$Cl=r),r!==void 0&&(t=k(i,r._$AS(i,t.values),r,s)),t}class Rt{constructor(t,e){this._$AV=[],this._$AN=void 0,this._$AD=t,this._$AM=e}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(t){const{el:{content:e},parts:s}=this._$AD,r=(t?.creationScope??w).importNode(e,!0);b.currentNode=r;let n=b.nextNode(),o=0,l=0,a=s[0];for(;a!==void 0;){if(o===a.index){let h;a.type===2?h=new P(n,n.nextSibling,this,t):a.type===1?h=new a.ctor(n,a.name,a.strings,this,t):a.type===6&&(h=new Dt(n,this,t)),this._$AV.push(h),a=s[++l]}o!==a?.index&&(n=b.nextNode(),o++)}return b.currentNode=w,r}p(t){let e=0;for(const s of this._$AV)s!==void 0&&(s.strings!==void 0?(s._$AI(t,s,e),e+=s.strings.length-2):s._$AI(t[e])),e++}}class P{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(t,e,s,r){this.type=2,this._$AH=u,this._$AN=void 0,this._$AA=t,this._$AB=e,this._$AM=s,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let t=this._$AA.parentNode;const e=this._$AM;return e!==void 0&&t?.nodeType===11&&(t=e.parentNode),t}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(t,e=this){t=k(this,t,e),R(t)?t===u||t==null||t===""?(this._$AH!==u&&this._$AR(),this._$AH=u):t!==this._$AH&&t!==x&&this._(t):t._$litType$!==void 0?this.$(t):t.nodeType!==void 0?this.T(t):Ot(t)?this.k(t):this._(t)}O(t){return this._$AA.parentNode.insertBefore(t,this._$AB)}T(t){this._$AH!==t&&(this._$AR(),this._$AH=this.O(t))}_(t){this._$AH!==u&&R(this._$AH)?this._$AA.nextSibling.data=t:this.T(w.createTextNode(t)),this._$AH=t}$(t){const{values:e,_$litType$:s}=t,r=typeof s=="number"?this._$AC(t):(s.el===void 0&&(s.el=N.createElement(vt(s.h,s.h[0]),this.options)),s);if(this._$AH?._$AD===r)this._$AH.p(e);else{const n=new Rt(r,this),o=n.u(this.options);n.p(e),this.T(o),this._$AH=n}}_$AC(t){let e=ht.get(t.strings);return e===void 0&&ht.set(t.strings,e=new N(t)),e}k(t){Z(this._$AH)||(this._$AH=[],this._$AR());const e=this._$AH;let s,r=0;for(const n of t)r===e.length?e.push(s=new P(this.O(U()),this.O(U()),this,this.options)):s=e[r],s._$AI(n),r++;r<e.length&&(this._$AR(s&&s._$AB.nextSibling,r),e.length=r)}_$AR(t=this._$AA.nextSibling,e){for(this._$AP?.(!1,!0,e);t!==this._$AB;){const s=it(t).nextSibling;it(t).remove(),t=s}}setConnected(t){this._$AM===void 0&&(this._$Cv=t,this._$AP?.(t))}}class z{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(t,e,s,r,n){this.type=1,this._$AH=u,this._$AN=void 0,this.element=t,this.name=e,this._$AM=r,this.options=n,s.length>2||s[0]!==""||s[1]!==""?(this._$AH=Array(s.length-1).fill(new String),this.strings=s):this._$AH=u}_$AI(t,e=this,s,r){const n=this.strings;let o=!1;if(n===void 0)t=k(this,t,e,0),o=!R(t)||t!==this._$AH&&t!==x,o&&(this._$AH=t);else{const l=t;let a,h;for(t=n[0],a=0;a<n.length-1;a++)h=k(this,l[s+a],e,a),h===x&&(h=this._$AH[a]),o||=!R(h)||h!==this._$AH[a],h===u?t=u:t!==u&&(t+=(h??"")+n[a+1]),this._$AH[a]=h}o&&!r&&this.j(t)}j(t){t===u?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,t??"")}}class Nt extends z{constructor(){super(...arguments),this.type=3}j(t){this.element[this.name]=t===u?void 0:t}}class Mt extends z{constructor(){super(...arguments),this.type=4}j(t){this.element.toggleAttribute(this.name,!!t&&t!==u)}}class jt extends z{constructor(t,e,s,r,n){super(t,e,s,r,n),this.type=5}_$AI(t,e=this){if((t=k(this,t,e,0)??u)===x)return;const s=this._$AH,r=t===u&&s!==u||t.capture!==s.capture||t.once!==s.once||t.passive!==s.passive,n=t!==u&&(s===u||r);r&&this.element.removeEventListener(this.name,this,s),n&&this.element.addEventListener(this.name,this,t),this._$AH=t}handleEvent(t){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)}}class Dt{constructor(t,e,s){this.element=t,this.type=6,this._$AN=void 0,this._$AM=e,this.options=s}get _$AU(){return this._$AM._$AU}_$AI(t){k(this,t)}}const fe={I:P},Ht=G.litHtmlPolyfillSupport;Ht?.(N,P),(G.litHtmlVersions??=[]).push("3.3.3");const Lt=(i,t,e)=>{const s=e?.renderBefore??t;let r=s._$litPart$;if(r===void 0){const n=e?.renderBefore??null;s._$litPart$=r=new P(t.insertBefore(U(),n),n,void 0,e??{})}return r._$AI(i),r};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const X=globalThis;class O extends S{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){const t=super.createRenderRoot();return this.renderOptions.renderBefore??=t.firstChild,t}update(t){const e=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(t),this._$Do=Lt(e,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return x}}O._$litElement$=!0,O.finalized=!0,X.litElementHydrateSupport?.({LitElement:O});const qt=X.litElementPolyfillSupport;qt?.({LitElement:O});(X.litElementVersions??=[]).push("4.2.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const It=i=>(t,e)=>{e!==void 0?e.addInitializer(()=>{customElements.define(i,t)}):customElements.define(i,t)};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const zt={attribute:!0,type:String,converter:L,reflect:!1,hasChanged:J},Vt=(i=zt,t,e)=>{const{kind:s,metadata:r}=e;let n=globalThis.litPropertyMetadata.get(r);if(n===void 0&&globalThis.litPropertyMetadata.set(r,n=new Map),s==="setter"&&((i=Object.create(i)).wrapped=!0),n.set(e.name,i),s==="accessor"){const{name:o}=e;return{set(l){const a=t.get.call(this);t.set.call(this,l),this.requestUpdate(o,a,i,!0,l)},init(l){return l!==void 0&&this.C(o,void 0,i,l),l}}}if(s==="setter"){const{name:o}=e;return function(l){const a=this[o];t.call(this,l),this.requestUpdate(o,a,i,!0,l)}}throw Error("Unsupported decorator location: "+s)};function Bt(i){return(t,e)=>typeof e=="object"?Vt(i,t,e):((s,r,n)=>{const o=r.hasOwnProperty(n);return r.constructor.createProperty(n,s),o?Object.getOwnPropertyDescriptor(r,n):void 0})(i,t,e)}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function M(i){return Bt({...i,state:!0,attribute:!1})}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Wt=(i,t,e)=>(e.configurable=!0,e.enumerable=!0,Reflect.decorate&&typeof t!="object"&&Object.defineProperty(i,t,e),e);/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function Kt(i,t){return(e,s,r)=>{const n=o=>o.renderRoot?.querySelector(i)??null;return Wt(e,s,{get(){return n(this)}})}}/**
 * @license
 * Copyright 2020 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const yt=Symbol.for(""),Ft=i=>{if(i?.r===yt)return i?._$litStatic$},Jt=i=>({_$litStatic$:i,r:yt}),ct=new Map,Gt=i=>(t,...e)=>{const s=e.length;let r,n;const o=[],l=[];let a,h=0,d=!1;for(;h<s;){for(a=t[h];h<s&&(n=e[h],(r=Ft(n))!==void 0);)a+=r+t[++h],d=!0;h!==s&&l.push(n),o.push(a),h++}if(h===s&&o.push(t[s]),d){const c=o.join("$$lit$$");(t=ct.get(c))===void 0&&(o.raw=o,ct.set(c,t=o)),e=l}return i(t,...e)},Zt=Gt(g),Xt=F`
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
`,ge=F`
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
`;async function*B(i){const t=i.pipeThrough(new TextDecoderStream).getReader();let e="",s={event:"message",id:"",data:[]};try{for(;;){const{value:r,done:n}=await t.read(),o=(e+(r??"")).split(n?/\r\n|\r|\n/:/\r\n|\r(?!$)|\n/);e=o.pop()??"";for(const l of o){if(l===""){s.data.length>0&&(yield{...s,data:s.data.join(`
`)}),s={event:"message",id:"",data:[]};continue}const[,a,h]=/^([^:]*)(?:: ?(.*))?$/s.exec(l)??[];a==="data"?s.data.push(h??""):a==="event"?s.event=h??"":a==="id"&&(s.id=h??"")}if(n)return}}finally{await t.cancel().catch(()=>{})}}class y extends Error{constructor(t,e){super(e.message),this.status=t,this.detail=e,this.name="ApiError"}}const Yt={context_length:null,capabilities:[],loaded:!0,sfumato:{noise:null,canvas_length:1,steps:null,max_tokens:null,tasks:[],kinds:[],parameters:[]}},Qt=[50,100,300,1e3,1e3,2e3,3e3,3e3];class te{constructor(t="",e=(r,n)=>fetch(r,n),s=sessionStorage.getItem("key")??""){this.base=t,this.fetcher=e,this.key=s,this.askForKey=()=>Promise.resolve(null)}async models(){const{data:t}=await this.json("GET","/v1/models");return t.map(e=>({...Yt,...e}))}async createCanvases(t){const e=await this.json("POST","/v1/canvas",{...t,background:!0});return"data"in e?e.data:[e]}async createCanvas(t){const[e]=await this.createCanvases(t);if(e===void 0)throw new y(0,{message:"the server made no canvas"});return e}canvas(t){return this.json("GET",`/v1/canvas/${t}`)}edit(t,e,s){return this.json("POST",`/v1/canvas/${t}/edits`,e,s)}undo(t,e){return this.json("POST",`/v1/canvas/${t}/undo`,{base_rev:e})}async revisions(t){return(await this.json("GET",`/v1/canvas/${t}/revisions`)).data}async deleteCanvas(t){await this.json("DELETE",`/v1/canvas/${t}`)}async*follow(t,e={}){let{after:s}=e;for(let r=0;;)try{const n=`/v1/canvas/${t}/events${s===void 0?"":`?after=${s}`}`,o=await this.request("GET",n,void 0,e.signal);for await(const{data:l}of B(o.body??new Blob().stream())){const a=JSON.parse(l),h=a.type==="canvas.snapshot";if(!(s!==void 0&&(h?a.seq<s:a.seq<=s))){if(!h&&s!==void 0&&a.seq>s+1)throw new y(0,{message:"events are missing"});if(r=0,s=a.seq,yield a,a.type==="canvas.done"||a.type==="canvas.error"||a.type==="canvas.snapshot"&&a.status!=="running")return}}throw new y(0,{message:"the connection ended"})}catch(n){if(e.signal?.aborted===!0)return;const o=Qt[r++];if(o===void 0||n instanceof y&&n.status!==0)throw n;await new Promise(l=>setTimeout(l,o))}}async*stream(t,e){const s=await this.request("POST","/v1/canvas",{...t,stream:!0},e);if(s.body!==null)for await(const{data:r}of B(s.body))yield JSON.parse(r)}async*chat(t,e){const s={...t,stream:!0,stream_options:{include_usage:!0}},r=await this.request("POST","/v1/chat/completions",s,e);if(r.body!==null)for await(const{data:n}of B(r.body)){if(n==="[DONE]")return;const o=JSON.parse(n);if("error"in o)throw new y(r.status,o.error);yield o}}async json(t,e,s,r){return await(await this.request(t,e,s,r)).json()}async request(t,e,s,r){const n=typeof s=="string"||s instanceof FormData,o=this.key===""?{}:{Authorization:`Bearer ${this.key}`};s!==void 0&&!n&&(o["Content-Type"]="application/json");let l;try{l=await this.fetcher(this.base+e,{method:t,headers:o,body:n?s:s===void 0?null:JSON.stringify(s),signal:r??null})}catch(h){throw r?.aborted===!0?h:new y(0,{message:"the server cannot be reached; is it running?"})}if(l.ok)return l;if(l.status===401){const h=await this.askForKey();if(h!==null)return this.key=h,sessionStorage.setItem("key",h),this.request(t,e,s,r)}const a=await l.json().catch(()=>null);throw new y(l.status,a?.error??{message:`the server answered ${l.status}`})}}const ee=new te;function se(i,t){try{const e=localStorage.getItem(`sfumato.${i}`);return e===null?t:JSON.parse(e)}catch{return t}}function ie(i,t){try{localStorage.setItem(`sfumato.${i}`,JSON.stringify(t))}catch{}}const re=(function(){const t=typeof document<"u"&&document.createElement("link").relList;return t&&t.supports&&t.supports("modulepreload")?"modulepreload":"preload"})(),ne=function(i){return"/"+i},dt={},_=function(t,e,s){let r=Promise.resolve();if(e&&e.length>0){let o=function(h){return Promise.all(h.map(d=>Promise.resolve(d).then(c=>({status:"fulfilled",value:c}),c=>({status:"rejected",reason:c}))))};document.getElementsByTagName("link");const l=document.querySelector("meta[property=csp-nonce]"),a=l?.nonce||l?.getAttribute("nonce");r=o(e.map(h=>{if(h=ne(h),h in dt)return;dt[h]=!0;const d=h.endsWith(".css"),c=d?'[rel="stylesheet"]':"";if(document.querySelector(`link[href="${h}"]${c}`))return;const p=document.createElement("link");if(p.rel=d?"stylesheet":re,d||(p.as="script"),p.crossOrigin="",p.href=h,a&&p.setAttribute("nonce",a),document.head.appendChild(p),d)return new Promise((m,E)=>{p.addEventListener("load",m),p.addEventListener("error",()=>E(new Error(`Unable to preload CSS for ${h}`)))})}))}function n(o){const l=new Event("vite:preloadError",{cancelable:!0});if(l.payload=o,window.dispatchEvent(l),!l.defaultPrevented)throw o}return r.then(o=>{for(const l of o||[])l.status==="rejected"&&n(l.reason);return t().catch(n)})},H=[{path:"/canvas",title:"Canvas",summary:"Watch a text form, step through it, and change it in place.",group:"studio",tag:"sf-canvas-page",load:()=>_(()=>import("./canvas-p3ylSbxA.js"),__vite__mapDeps([0,1,2,3,4]))},{path:"/editor",title:"Editor",summary:"Have a file revised where you say, and only there.",group:"studio",tag:"sf-editor-page",load:()=>_(()=>import("./editor-D5z3xVu8.js"),__vite__mapDeps([5,6,7,2]))},{path:"/race",title:"Race",summary:"Two models, one prompt, true clocks.",group:"studio",tag:"sf-race-page",load:()=>_(()=>import("./race-C9br6387.js"),__vite__mapDeps([8,9,4,2,1]))},{path:"/structure",title:"Structure",summary:"A schema on the left, a form that fills itself on the right.",group:"studio",tag:"sf-structure-page",load:()=>_(()=>import("./structure-BuG1Bx9Y.js"),__vite__mapDeps([10,6,11,2,7,4,3]))},{path:"/cost",title:"Cost",summary:"Steps, positions, queue and speed of this server, live.",group:"studio",tag:"sf-cost-page",load:()=>_(()=>import("./cost-B_QU-Abl.js"),__vite__mapDeps([12,9]))},{path:"/todo",title:"To-do",summary:"Say what the list should be; say how to change it.",group:"apps",tag:"sf-todo-page",load:()=>_(()=>import("./todo-hEj1BVK7.js"),__vite__mapDeps([13,11,2,7,14,4,3]))},{path:"/desktop",title:"Desktop",summary:"Apps that are made when you open them, each in its window.",group:"apps",tag:"sf-desktop-page",load:()=>_(()=>import("./desktop-BoJJZ-gk.js"),__vite__mapDeps([15,7,2,11,14,4,3]))}];function j(i){return H.find(t=>i===t.path||i.startsWith(`${t.path}/`))}function oe(i){return decodeURIComponent(i.split("/").slice(2).join("/"))}function ae(i,{replace:t=!1}={}){history[t?"replaceState":"pushState"](null,"",i),window.dispatchEvent(new PopStateEvent("popstate"))}function Y(i){window.dispatchEvent(new CustomEvent("sf-say",{detail:i}))}function $e(i){Y({text:i,kind:"note",quiet:!1})}function ve(i){Y({text:i,kind:"note",quiet:!0})}function ut(i){i instanceof DOMException&&i.name==="AbortError"||Y({text:i instanceof Error?i.message:String(i),kind:"error",quiet:!1})}var le=Object.defineProperty,he=Object.getOwnPropertyDescriptor,A=(i,t,e,s)=>{for(var r=s>1?void 0:s?he(t,e):t,n=i.length-1,o;n>=0;n--)(o=i[n])&&(r=(s?o(t,e,r):o(r))||r);return s&&r&&le(t,e,r),r};const ce=6e3,de={system:"light",light:"dark",dark:"system"};let f=class extends O{constructor(){super(...arguments),this.path=location.pathname,this.loaded=new Set,this.theme=se("theme","system"),this.shown=null,this.spoken="",this.hiding=0}connectedCallback(){super.connectedCallback(),this.applyTheme(),addEventListener("popstate",()=>{this.path=location.pathname,this.openPage()}),addEventListener("sf-say",({detail:i})=>{this.spoken=i.text,!i.quiet&&(this.shown=i,clearTimeout(this.hiding),this.hiding=window.setTimeout(()=>this.shown=null,ce))}),addEventListener("unhandledrejection",i=>ut(i.reason)),ee.askForKey=()=>this.askForKey(),this.openPage()}openPage(){const i=j(this.path);document.title=i===void 0?"Sfumato":`${i.title} · Sfumato`,!(i===void 0||this.loaded.has(i.tag))&&i.load().then(()=>this.loaded=new Set([...this.loaded,i.tag]),ut)}askForKey(){return this.keyDialog.returnValue="",this.keyDialog.showModal(),new Promise(i=>{const t=()=>{const e=this.keyDialog.querySelector("input");i(this.keyDialog.returnValue==="ok"&&e?.value?e.value:null)};this.keyDialog.addEventListener("close",t,{once:!0})})}changeTheme(){this.theme=de[this.theme],ie("theme",this.theme),this.applyTheme()}applyTheme(){document.documentElement.dataset.theme=this.theme}onClick(i){const t=i.composedPath().find(s=>s instanceof HTMLAnchorElement),e=i.button===0&&!(i.ctrlKey||i.metaKey||i.shiftKey||i.altKey);t===void 0||!e||t.target!==""||t.hasAttribute("download")||t.origin!==location.origin||t.pathname!=="/"&&j(t.pathname)===void 0||(i.preventDefault(),ae(t.pathname+t.search+t.hash))}link(i){return g`<a href=${i.path} aria-current=${j(this.path)===i?"page":u}
      >${i.title}</a
    >`}render(){const i=j(this.path);return g`<div style="display: contents" @click=${this.onClick}>
      <header>
        <a class="name" href="/"><img src="/icon.svg" width="26" height="26" alt="" />Sfumato</a>
        <nav aria-label="Pages">
          ${H.filter(({group:t})=>t==="studio").map(t=>this.link(t))}
          <span class="gap"></span>
          ${H.filter(({group:t})=>t==="apps").map(t=>this.link(t))}
        </nav>
        <button class="quiet" @click=${this.changeTheme}>Theme: ${this.theme}</button>
      </header>
      <main>${i===void 0?this.overview():this.page(i)}</main>
      ${this.shown===null?u:g`<div class="saying ${this.shown.kind}">
              <span>${this.shown.text}</span>
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
    </div>`}page(i){if(!this.loaded.has(i.tag))return g`<p class="muted" role="status">Opening ${i.title} …</p>`;const t=Jt(i.tag);return Zt`<${t} .place=${oe(this.path)}></${t}>`}overview(){const i=t=>g`<ul class="pages">
        ${H.filter(e=>e.group===t).map(e=>g`<li>
                <a class="card" href=${e.path}
                  ><strong>${e.title}</strong><span class="muted">${e.summary}</span></a
                >
              </li>`)}
      </ul>`;return g`<h1>Text that forms, is revised, and answers to you</h1>
      <p class="muted">Every page asks this server alone; nothing leaves the machine.</p>
      <h2>Studio</h2>
      ${i("studio")}
      <h2>Apps</h2>
      ${i("apps")}`}};f.styles=[Xt,F`
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
    `];A([M()],f.prototype,"path",2);A([M()],f.prototype,"loaded",2);A([M()],f.prototype,"theme",2);A([M()],f.prototype,"shown",2);A([M()],f.prototype,"spoken",2);A([Kt("dialog")],f.prototype,"keyDialog",2);f=A([It("sf-app")],f);export{u as A,x as E,y as a,ve as b,ee as c,g as d,Xt as e,Kt as f,O as g,ae as h,F as i,fe as j,_t as k,ie as l,se as m,Bt as n,ut as o,ge as p,M as r,$e as s,It as t,me as w};
