const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/canvas-BQkeGwkQ.js","assets/canvas-styles-BGu5uFqt.js","assets/canvas-Bo2askCk.js","assets/offsets-EgNy2a1f.js","assets/canvas-BqwZnn-S.js","assets/take-Cb18_Fsc.js","assets/files-CTAAkA73.js","assets/editor-tLVjOPuJ.js","assets/code-0VB7YPsG.js","assets/repeat-CMpXvs-E.js","assets/race-BmxAipU9.js","assets/intervals-CY-SNFsX.js","assets/answer-UQjbIVjM.js","assets/structure-DhZCwmn9.js","assets/live-DZVJQnX6.js","assets/steps-mb0g5HZU.js","assets/cost-BVbhQOuu.js","assets/tab-5n0Z5joZ.js","assets/todo-3FgLdNwG.js","assets/keys-Bvww4gEl.js","assets/screen-DSTrYKUr.js","assets/encyclopedia-yLETDU81.js","assets/writing-CK6XnkLg.js","assets/prose-BSjtqjvL.js","assets/encyclopedia-CTZ1cng2.js","assets/forum-8ToRdg4J.js","assets/desktop-CTIFDDjL.js"])))=>i.map(i=>d[i]);
/**
 * @license
 * Copyright 2019 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const j=globalThis,W=j.ShadowRoot&&(j.ShadyCSS===void 0||j.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,F=Symbol(),tt=new WeakMap;let ft=class{constructor(t,e,i){if(this._$cssResult$=!0,i!==F)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=t,this.t=e}get styleSheet(){let t=this.o;const e=this.t;if(W&&t===void 0){const i=e!==void 0&&e.length===1;i&&(t=tt.get(e)),t===void 0&&((this.o=t=new CSSStyleSheet).replaceSync(this.cssText),i&&tt.set(e,t))}return t}toString(){return this.cssText}};const St=s=>new ft(typeof s=="string"?s:s+"",void 0,F),J=(s,...t)=>{const e=s.length===1?s[0]:t.reduce((i,r,n)=>i+(o=>{if(o._$cssResult$===!0)return o.cssText;if(typeof o=="number")return o;throw Error("Value passed to 'css' function must be a 'css' function result: "+o+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(r)+s[n+1],s[0]);return new ft(e,s,F)},xt=(s,t)=>{if(W)s.adoptedStyleSheets=t.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(const e of t){const i=document.createElement("style"),r=j.litNonce;r!==void 0&&i.setAttribute("nonce",r),i.textContent=e.cssText,s.appendChild(i)}},et=W?s=>s:s=>s instanceof CSSStyleSheet?(t=>{let e="";for(const i of t.cssRules)e+=i.cssText;return St(e)})(s):s;/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const{is:kt,defineProperty:Pt,getOwnPropertyDescriptor:Ot,getOwnPropertyNames:Ct,getOwnPropertySymbols:Tt,getPrototypeOf:Rt}=Object,z=globalThis,st=z.trustedTypes,Ut=st?st.emptyScript:"",Nt=z.reactiveElementPolyfillSupport,T=(s,t)=>s,H={toAttribute(s,t){switch(t){case Boolean:s=s?Ut:null;break;case Object:case Array:s=s==null?s:JSON.stringify(s)}return s},fromAttribute(s,t){let e=s;switch(t){case Boolean:e=s!==null;break;case Number:e=s===null?null:Number(s);break;case Object:case Array:try{e=JSON.parse(s)}catch{e=null}}return e}},G=(s,t)=>!kt(s,t),it={attribute:!0,type:String,converter:H,reflect:!1,useDefault:!1,hasChanged:G};Symbol.metadata??=Symbol("metadata"),z.litPropertyMetadata??=new WeakMap;let x=class extends HTMLElement{static addInitializer(t){this._$Ei(),(this.l??=[]).push(t)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(t,e=it){if(e.state&&(e.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(t)&&((e=Object.create(e)).wrapped=!0),this.elementProperties.set(t,e),!e.noAccessor){const i=Symbol(),r=this.getPropertyDescriptor(t,i,e);r!==void 0&&Pt(this.prototype,t,r)}}static getPropertyDescriptor(t,e,i){const{get:r,set:n}=Ot(this.prototype,t)??{get(){return this[e]},set(o){this[e]=o}};return{get:r,set(o){const l=r?.call(this);n?.call(this,o),this.requestUpdate(t,l,i)},configurable:!0,enumerable:!0}}static getPropertyOptions(t){return this.elementProperties.get(t)??it}static _$Ei(){if(this.hasOwnProperty(T("elementProperties")))return;const t=Rt(this);t.finalize(),t.l!==void 0&&(this.l=[...t.l]),this.elementProperties=new Map(t.elementProperties)}static finalize(){if(this.hasOwnProperty(T("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(T("properties"))){const e=this.properties,i=[...Ct(e),...Tt(e)];for(const r of i)this.createProperty(r,e[r])}const t=this[Symbol.metadata];if(t!==null){const e=litPropertyMetadata.get(t);if(e!==void 0)for(const[i,r]of e)this.elementProperties.set(i,r)}this._$Eh=new Map;for(const[e,i]of this.elementProperties){const r=this._$Eu(e,i);r!==void 0&&this._$Eh.set(r,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(t){const e=[];if(Array.isArray(t)){const i=new Set(t.flat(1/0).reverse());for(const r of i)e.unshift(et(r))}else t!==void 0&&e.push(et(t));return e}static _$Eu(t,e){const i=e.attribute;return i===!1?void 0:typeof i=="string"?i:typeof t=="string"?t.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(t=>this.enableUpdating=t),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(t=>t(this))}addController(t){(this._$EO??=new Set).add(t),this.renderRoot!==void 0&&this.isConnected&&t.hostConnected?.()}removeController(t){this._$EO?.delete(t)}_$E_(){const t=new Map,e=this.constructor.elementProperties;for(const i of e.keys())this.hasOwnProperty(i)&&(t.set(i,this[i]),delete this[i]);t.size>0&&(this._$Ep=t)}createRenderRoot(){const t=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return xt(t,this.constructor.elementStyles),t}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(t=>t.hostConnected?.())}enableUpdating(t){}disconnectedCallback(){this._$EO?.forEach(t=>t.hostDisconnected?.())}attributeChangedCallback(t,e,i){this._$AK(t,i)}_$ET(t,e){const i=this.constructor.elementProperties.get(t),r=this.constructor._$Eu(t,i);if(r!==void 0&&i.reflect===!0){const n=(i.converter?.toAttribute!==void 0?i.converter:H).toAttribute(e,i.type);this._$Em=t,n==null?this.removeAttribute(r):this.setAttribute(r,n),this._$Em=null}}_$AK(t,e){const i=this.constructor,r=i._$Eh.get(t);if(r!==void 0&&this._$Em!==r){const n=i.getPropertyOptions(r),o=typeof n.converter=="function"?{fromAttribute:n.converter}:n.converter?.fromAttribute!==void 0?n.converter:H;this._$Em=r;const l=o.fromAttribute(e,n.type);this[r]=l??this._$Ej?.get(r)??l,this._$Em=null}}requestUpdate(t,e,i,r=!1,n){if(t!==void 0){const o=this.constructor;if(r===!1&&(n=this[t]),i??=o.getPropertyOptions(t),!((i.hasChanged??G)(n,e)||i.useDefault&&i.reflect&&n===this._$Ej?.get(t)&&!this.hasAttribute(o._$Eu(t,i))))return;this.C(t,e,i)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(t,e,{useDefault:i,reflect:r,wrapped:n},o){i&&!(this._$Ej??=new Map).has(t)&&(this._$Ej.set(t,o??e??this[t]),n!==!0||o!==void 0)||(this._$AL.has(t)||(this.hasUpdated||i||(e=void 0),this._$AL.set(t,e)),r===!0&&this._$Em!==t&&(this._$Eq??=new Set).add(t))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}const t=this.scheduleUpdate();return t!=null&&await t,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(const[r,n]of this._$Ep)this[r]=n;this._$Ep=void 0}const i=this.constructor.elementProperties;if(i.size>0)for(const[r,n]of i){const{wrapped:o}=n,l=this[r];o!==!0||this._$AL.has(r)||l===void 0||this.C(r,void 0,n,l)}}let t=!1;const e=this._$AL;try{t=this.shouldUpdate(e),t?(this.willUpdate(e),this._$EO?.forEach(i=>i.hostUpdate?.()),this.update(e)):this._$EM()}catch(i){throw t=!1,this._$EM(),i}t&&this._$AE(e)}willUpdate(t){}_$AE(t){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(t)),this.updated(t)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(t){return!0}update(t){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(t){}firstUpdated(t){}};x.elementStyles=[],x.shadowRootOptions={mode:"open"},x[T("elementProperties")]=new Map,x[T("finalized")]=new Map,Nt?.({ReactiveElement:x}),(z.reactiveElementVersions??=[]).push("2.1.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Z=globalThis,rt=s=>s,q=Z.trustedTypes,nt=q?q.createPolicy("lit-html",{createHTML:s=>s}):void 0,gt="$lit$",y=`lit$${Math.random().toFixed(9).slice(2)}$`,$t="?"+y,Lt=`<${$t}>`,b=document,U=()=>b.createComment(""),N=s=>s===null||typeof s!="object"&&typeof s!="function",X=Array.isArray,Mt=s=>X(s)||typeof s?.[Symbol.iterator]=="function",K=`[ 	
\f\r]`,C=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,ot=/-->/g,at=/>/g,_=RegExp(`>|${K}(?:([^\\s"'>=/]+)(${K}*=${K}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),lt=/'/g,ct=/"/g,vt=/^(?:script|style|textarea|title)$/i,yt=s=>(t,...e)=>({_$litType$:s,strings:t,values:e}),g=yt(1),Ee=yt(2),k=Symbol.for("lit-noChange"),u=Symbol.for("lit-nothing"),ht=new WeakMap,w=b.createTreeWalker(b,129);function _t(s,t){if(!X(s)||!s.hasOwnProperty("raw"))throw Error("invalid template strings array");return nt!==void 0?nt.createHTML(t):t}const jt=(s,t)=>{const e=s.length-1,i=[];let r,n=t===2?"<svg>":t===3?"<math>":"",o=C;for(let l=0;l<e;l++){const a=s[l];let c,d,h=-1,p=0;for(;p<a.length&&(o.lastIndex=p,d=o.exec(a),d!==null);)p=o.lastIndex,o===C?d[1]==="!--"?o=ot:d[1]!==void 0?o=at:d[2]!==void 0?(vt.test(d[2])&&(r=RegExp("</"+d[2],"g")),o=_):d[3]!==void 0&&(o=_):o===_?d[0]===">"?(o=r??C,h=-1):d[1]===void 0?h=-2:(h=o.lastIndex-d[2].length,c=d[1],o=d[3]===void 0?_:d[3]==='"'?ct:lt):o===ct||o===lt?o=_:o===ot||o===at?o=C:(o=_,r=void 0);const m=o===_&&s[l+1].startsWith("/>")?" ":"";n+=o===C?a+Lt:h>=0?(i.push(c),a.slice(0,h)+gt+a.slice(h)+y+m):a+y+(h===-2?l:m)}return[_t(s,n+(s[e]||"<?>")+(t===2?"</svg>":t===3?"</math>":"")),i]};class L{constructor({strings:t,_$litType$:e},i){let r;this.parts=[];let n=0,o=0;const l=t.length-1,a=this.parts,[c,d]=jt(t,e);if(this.el=L.createElement(c,i),w.currentNode=this.el.content,e===2||e===3){const h=this.el.content.firstChild;h.replaceWith(...h.childNodes)}for(;(r=w.nextNode())!==null&&a.length<l;){if(r.nodeType===1){if(r.hasAttributes())for(const h of r.getAttributeNames())if(h.endsWith(gt)){const p=d[o++],m=r.getAttribute(h).split(y),E=/([.?@])?(.*)/.exec(p);a.push({type:1,index:n,name:E[2],strings:m,ctor:E[1]==="."?Ht:E[1]==="?"?qt:E[1]==="@"?It:V}),r.removeAttribute(h)}else h.startsWith(y)&&(a.push({type:6,index:n}),r.removeAttribute(h));if(vt.test(r.tagName)){const h=r.textContent.split(y),p=h.length-1;if(p>0){r.textContent=q?q.emptyScript:"";for(let m=0;m<p;m++)r.append(h[m],U()),w.nextNode(),a.push({type:2,index:++n});r.append(h[p],U())}}}else if(r.nodeType===8)if(r.data===$t)a.push({type:2,index:n});else{let h=-1;for(;(h=r.data.indexOf(y,h+1))!==-1;)a.push({type:7,index:n}),h+=y.length-1}n++}}static createElement(t,e){const i=b.createElement("template");return i.innerHTML=t,i}}function P(s,t,e=s,i){if(t===k)return t;let r=i!==void 0?e._$Co?.[i]:e._$Cl;const n=N(t)?void 0:t._$litDirective$;return r?.constructor!==n&&(r?._$AO?.(!1),n===void 0?r=void 0:(r=new n(s),r._$AT(s,e,i)),i!==void 0?(e._$Co??=[])[i]=r:e._$Cl=r),r!==void 0&&(t=P(s,r._$AS(s,t.values),r,i)),t}class Dt{constructor(t,e){this._$AV=[],this._$AN=void 0,this._$AD=t,this._$AM=e}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(t){const{el:{content:e},parts:i}=this._$AD,r=(t?.creationScope??b).importNode(e,!0);w.currentNode=r;let n=w.nextNode(),o=0,l=0,a=i[0];for(;a!==void 0;){if(o===a.index){let c;a.type===2?c=new O(n,n.nextSibling,this,t):a.type===1?c=new a.ctor(n,a.name,a.strings,this,t):a.type===6&&(c=new zt(n,this,t)),this._$AV.push(c),a=i[++l]}o!==a?.index&&(n=w.nextNode(),o++)}return w.currentNode=b,r}p(t){let e=0;for(const i of this._$AV)i!==void 0&&(i.strings!==void 0?(i._$AI(t,i,e),e+=i.strings.length-2):i._$AI(t[e])),e++}}class O{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(t,e,i,r){this.type=2,this._$AH=u,this._$AN=void 0,this._$AA=t,this._$AB=e,this._$AM=i,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let t=this._$AA.parentNode;const e=this._$AM;return e!==void 0&&t?.nodeType===11&&(t=e.parentNode),t}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(t,e=this){t=P(this,t,e),N(t)?t===u||t==null||t===""?(this._$AH!==u&&this._$AR(),this._$AH=u):t!==this._$AH&&t!==k&&this._(t):t._$litType$!==void 0?this.$(t):t.nodeType!==void 0?this.T(t):Mt(t)?this.k(t):this._(t)}O(t){return this._$AA.parentNode.insertBefore(t,this._$AB)}T(t){this._$AH!==t&&(this._$AR(),this._$AH=this.O(t))}_(t){this._$AH!==u&&N(this._$AH)?this._$AA.nextSibling.data=t:this.T(b.createTextNode(t)),this._$AH=t}$(t){const{values:e,_$litType$:i}=t,r=typeof i=="number"?this._$AC(t):(i.el===void 0&&(i.el=L.createElement(_t(i.h,i.h[0]),this.options)),i);if(this._$AH?._$AD===r)this._$AH.p(e);else{const n=new Dt(r,this),o=n.u(this.options);n.p(e),this.T(o),this._$AH=n}}_$AC(t){let e=ht.get(t.strings);return e===void 0&&ht.set(t.strings,e=new L(t)),e}k(t){X(this._$AH)||(this._$AH=[],this._$AR());const e=this._$AH;let i,r=0;for(const n of t)r===e.length?e.push(i=new O(this.O(U()),this.O(U()),this,this.options)):i=e[r],i._$AI(n),r++;r<e.length&&(this._$AR(i&&i._$AB.nextSibling,r),e.length=r)}_$AR(t=this._$AA.nextSibling,e){for(this._$AP?.(!1,!0,e);t!==this._$AB;){const i=rt(t).nextSibling;rt(t).remove(),t=i}}setConnected(t){this._$AM===void 0&&(this._$Cv=t,this._$AP?.(t))}}class V{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(t,e,i,r,n){this.type=1,this._$AH=u,this._$AN=void 0,this.element=t,this.name=e,this._$AM=r,this.options=n,i.length>2||i[0]!==""||i[1]!==""?(this._$AH=Array(i.length-1).fill(new String),this.strings=i):this._$AH=u}_$AI(t,e=this,i,r){const n=this.strings;let o=!1;if(n===void 0)t=P(this,t,e,0),o=!N(t)||t!==this._$AH&&t!==k,o&&(this._$AH=t);else{const l=t;let a,c;for(t=n[0],a=0;a<n.length-1;a++)c=P(this,l[i+a],e,a),c===k&&(c=this._$AH[a]),o||=!N(c)||c!==this._$AH[a],c===u?t=u:t!==u&&(t+=(c??"")+n[a+1]),this._$AH[a]=c}o&&!r&&this.j(t)}j(t){t===u?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,t??"")}}class Ht extends V{constructor(){super(...arguments),this.type=3}j(t){this.element[this.name]=t===u?void 0:t}}class qt extends V{constructor(){super(...arguments),this.type=4}j(t){this.element.toggleAttribute(this.name,!!t&&t!==u)}}class It extends V{constructor(t,e,i,r,n){super(t,e,i,r,n),this.type=5}_$AI(t,e=this){if((t=P(this,t,e,0)??u)===k)return;const i=this._$AH,r=t===u&&i!==u||t.capture!==i.capture||t.once!==i.once||t.passive!==i.passive,n=t!==u&&(i===u||r);r&&this.element.removeEventListener(this.name,this,i),n&&this.element.addEventListener(this.name,this,t),this._$AH=t}handleEvent(t){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)}}class zt{constructor(t,e,i){this.element=t,this.type=6,this._$AN=void 0,this._$AM=e,this.options=i}get _$AU(){return this._$AM._$AU}_$AI(t){P(this,t)}}const Se={I:O},Vt=Z.litHtmlPolyfillSupport;Vt?.(L,O),(Z.litHtmlVersions??=[]).push("3.3.3");const Kt=(s,t,e)=>{const i=e?.renderBefore??t;let r=i._$litPart$;if(r===void 0){const n=e?.renderBefore??null;i._$litPart$=r=new O(t.insertBefore(U(),n),n,void 0,e??{})}return r._$AI(s),r};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Y=globalThis;class R extends x{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){const t=super.createRenderRoot();return this.renderOptions.renderBefore??=t.firstChild,t}update(t){const e=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(t),this._$Do=Kt(e,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return k}}R._$litElement$=!0,R.finalized=!0,Y.litElementHydrateSupport?.({LitElement:R});const Bt=Y.litElementPolyfillSupport;Bt?.({LitElement:R});(Y.litElementVersions??=[]).push("4.2.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Wt=s=>(t,e)=>{e!==void 0?e.addInitializer(()=>{customElements.define(s,t)}):customElements.define(s,t)};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Ft={attribute:!0,type:String,converter:H,reflect:!1,hasChanged:G},Jt=(s=Ft,t,e)=>{const{kind:i,metadata:r}=e;let n=globalThis.litPropertyMetadata.get(r);if(n===void 0&&globalThis.litPropertyMetadata.set(r,n=new Map),i==="setter"&&((s=Object.create(s)).wrapped=!0),n.set(e.name,s),i==="accessor"){const{name:o}=e;return{set(l){const a=t.get.call(this);t.set.call(this,l),this.requestUpdate(o,a,s,!0,l)},init(l){return l!==void 0&&this.C(o,void 0,s,l),l}}}if(i==="setter"){const{name:o}=e;return function(l){const a=this[o];t.call(this,l),this.requestUpdate(o,a,s,!0,l)}}throw Error("Unsupported decorator location: "+i)};function Gt(s){return(t,e)=>typeof e=="object"?Jt(s,t,e):((i,r,n)=>{const o=r.hasOwnProperty(n);return r.constructor.createProperty(n,i),o?Object.getOwnPropertyDescriptor(r,n):void 0})(s,t,e)}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function M(s){return Gt({...s,state:!0,attribute:!1})}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Zt=(s,t,e)=>(e.configurable=!0,e.enumerable=!0,Reflect.decorate&&typeof t!="object"&&Object.defineProperty(s,t,e),e);/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function Xt(s,t){return(e,i,r)=>{const n=o=>o.renderRoot?.querySelector(s)??null;return Zt(e,i,{get(){return n(this)}})}}/**
 * @license
 * Copyright 2020 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const wt=Symbol.for(""),Yt=s=>{if(s?.r===wt)return s?._$litStatic$},Qt=s=>({_$litStatic$:s,r:wt}),dt=new Map,te=s=>(t,...e)=>{const i=e.length;let r,n;const o=[],l=[];let a,c=0,d=!1;for(;c<i;){for(a=t[c];c<i&&(n=e[c],(r=Yt(n))!==void 0);)a+=r+t[++c],d=!0;c!==i&&l.push(n),o.push(a),c++}if(c===i&&o.push(t[i]),d){const h=o.join("$$lit$$");(t=dt.get(h))===void 0&&(o.raw=o,dt.set(h,t=o)),e=l}return s(t,...e)},ee=te(g),se=J`
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
  /* In a label, too, as high as the button beside it. */
  input,
  select {
    font-size: 1rem;
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
    /* A select takes no line height. */
    min-height: 2.425rem;
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
  .intro {
    margin: -0.5rem 0 0;
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
    white-space: pre-line;
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`,xe=J`
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
`;async function*B(s){const t=s.pipeThrough(new TextDecoderStream).getReader();let e="",i={event:"message",id:"",data:[]};try{for(;;){const{value:r,done:n}=await t.read(),o=(e+(r??"")).split(n?/\r\n|\r|\n/:/\r\n|\r(?!$)|\n/);e=o.pop()??"";for(const l of o){if(l===""){i.data.length>0&&(yield{...i,data:i.data.join(`
`)}),i={event:"message",id:"",data:[]};continue}const[,a,c]=/^([^:]*)(?:: ?(.*))?$/s.exec(l)??[];a==="data"?i.data.push(c??""):a==="event"?i.event=c??"":a==="id"&&(i.id=c??"")}if(n)return}}finally{await t.cancel().catch(()=>{})}}class v extends Error{constructor(t,e){super(e.message.replace(/\nto ask anyway .*$/,"")),this.status=t,this.detail=e,this.name="ApiError"}}function ie(){try{return sessionStorage.getItem("key")??""}catch{return""}}function re(s){try{sessionStorage.setItem("key",s)}catch{}}const ut={context_length:null,capabilities:[],loaded:!0,sfumato:{noise:null,canvas_length:1,steps:null,sampler:null,samplers:[],limits:{},max_tokens:null,tasks:[],kinds:[],parameters:[]}},ne=[50,100,300,1e3,1e3,2e3,3e3,3e3];class oe{constructor(t="",e=(r,n)=>fetch(r,n),i=ie()){this.base=t,this.fetcher=e,this.key=i,this.askForKey=()=>Promise.resolve(null),this.asking=null}async models(){const{data:t}=await this.json("GET","/v1/models");return t.map(e=>({...ut,...e,sfumato:{...ut.sfumato,...e.sfumato}}))}async createCanvases(t){const e=await this.json("POST","/v1/canvas",{...t,background:!0});return"data"in e?e.data:[e]}async createCanvas(t){const[e]=await this.createCanvases(t);if(e===void 0)throw new v(0,{message:"the server made no canvas"});return e}canvas(t){return this.json("GET",`/v1/canvas/${t}`)}edit(t,e,i){return this.json("POST",`/v1/canvas/${t}/edits`,e,i)}async addPicture(t,e){await this.json("POST",`/v1/canvas/${t}/assets`,e)}undo(t,e){return this.json("POST",`/v1/canvas/${t}/undo`,{base_rev:e})}async revisions(t){return(await this.json("GET",`/v1/canvas/${t}/revisions`)).data}async deleteCanvas(t){await this.json("DELETE",`/v1/canvas/${t}`)}async*follow(t,e={}){let{after:i}=e;for(let r=0;;)try{const n=`/v1/canvas/${t}/events${i===void 0?"":`?after=${i}`}`,o=await this.request("GET",n,void 0,e.signal);for await(const{data:l}of B(o.body??new Blob().stream())){const a=JSON.parse(l),c=a.type==="canvas.snapshot";if(!(i!==void 0&&(c?a.seq<i:a.seq<=i))){if(!c&&i!==void 0&&a.seq>i+1)throw new v(0,{message:"events are missing"});if(r=0,i=a.seq,yield a,e.pictures!==!0&&(a.type==="canvas.done"||a.type==="canvas.error"||a.type==="canvas.snapshot"&&a.status!=="running"))return}}if(e.pictures===!0&&!ae(await this.canvas(t)))return;throw new v(0,{message:"the connection ended"})}catch(n){if(e.signal?.aborted===!0)return;const o=ne[r++];if(o===void 0||n instanceof v&&n.status!==0)throw n;await new Promise(l=>setTimeout(l,o))}}async*stream(t,e){const i=await this.request("POST","/v1/canvas",{...t,stream:!0},e);if(i.body!==null)for await(const{data:r}of B(i.body))yield JSON.parse(r)}async*chat(t,e){const i={...t,stream:!0,stream_options:{include_usage:!0}},r=await this.request("POST","/v1/chat/completions",i,e);if(r.body!==null)for await(const{data:n}of B(r.body)){if(n==="[DONE]")return;const o=JSON.parse(n);if("error"in o)throw new v(r.status,o.error);yield o}}async json(t,e,i,r){return await(await this.request(t,e,i,r)).json()}async newKey(){this.asking??=this.askForKey().finally(()=>this.asking=null);const t=await this.asking;if(t!==null&&!/^[\x21-\x7e]+$/.test(t))throw new v(401,{message:"A key has only ASCII letters, digits and signs."});return t!==null&&re(this.key=t),t}async request(t,e,i,r){const n=typeof i=="string"||i instanceof FormData,{key:o}=this,l=o===""?{}:{Authorization:`Bearer ${o}`};i!==void 0&&!n&&(l["Content-Type"]="application/json");let a;try{a=await this.fetcher(this.base+e,{method:t,headers:l,body:n?i:i===void 0?null:JSON.stringify(i),signal:r??null})}catch(d){throw r?.aborted===!0?d:new v(0,{message:"the server cannot be reached; is it running?"})}if(a.ok)return a;if(a.status===401&&(this.key!==o||await this.newKey()!==null))return this.request(t,e,i,r);const c=await a.json().catch(()=>null);throw new v(a.status,c?.error??{message:`the server answered ${a.status}`})}}function ae({status:s,assets:t=[]}){return s==="running"||t.some(e=>e.status==="pending")}const le=new oe;function ce(s,t){try{const e=localStorage.getItem(`sfumato.${s}`);return e===null?t:JSON.parse(e)}catch{return t}}function he(s,t){try{localStorage.setItem(`sfumato.${s}`,JSON.stringify(t))}catch{}}const bt={theme:["system","light","dark"],text:["medium","small","large"],motion:["system","reduced"]},At=Object.keys(bt);function I(){return Object.fromEntries(At.map(s=>[s,ce(s,bt[s][0])]))}function de(s){for(const[t,e]of Object.entries(s))he(t,e);Et({...I(),...s}),window.dispatchEvent(new Event("sf-looks"))}function Et(s=I()){for(const t of At)document.documentElement.dataset[t]=s[t]}function ke(){return getComputedStyle(document.documentElement).getPropertyValue("--motion").trim()==="0"}const ue=(function(){const t=typeof document<"u"&&document.createElement("link").relList;return t&&t.supports&&t.supports("modulepreload")?"modulepreload":"preload"})(),pe=function(s){return"/"+s},pt={},f=function(t,e,i){let r=Promise.resolve();if(e&&e.length>0){let o=function(c){return Promise.all(c.map(d=>Promise.resolve(d).then(h=>({status:"fulfilled",value:h}),h=>({status:"rejected",reason:h}))))};document.getElementsByTagName("link");const l=document.querySelector("meta[property=csp-nonce]"),a=l?.nonce||l?.getAttribute("nonce");r=o(e.map(c=>{if(c=pe(c),c in pt)return;pt[c]=!0;const d=c.endsWith(".css"),h=d?'[rel="stylesheet"]':"";if(document.querySelector(`link[href="${c}"]${h}`))return;const p=document.createElement("link");if(p.rel=d?"stylesheet":ue,d||(p.as="script"),p.crossOrigin="",p.href=c,a&&p.setAttribute("nonce",a),document.head.appendChild(p),d)return new Promise((m,E)=>{p.addEventListener("load",m),p.addEventListener("error",()=>E(new Error(`Unable to preload CSS for ${c}`)))})}))}function n(o){const l=new Event("vite:preloadError",{cancelable:!0});if(l.payload=o,window.dispatchEvent(l),!l.defaultPrevented)throw o}return r.then(o=>{for(const l of o||[])l.status==="rejected"&&n(l.reason);return t().catch(n)})},D=[{path:"/canvas",title:"Canvas",summary:"Watch a text form step by step, and change it in place.",group:"studio",tag:"sf-canvas-page",load:()=>f(()=>import("./canvas-BQkeGwkQ.js"),__vite__mapDeps([0,1,2,3,4,5,6]))},{path:"/editor",title:"Editor",summary:"Select code and say what to change; nothing else is touched.",group:"studio",tag:"sf-editor-page",load:()=>f(()=>import("./editor-tLVjOPuJ.js"),__vite__mapDeps([7,8,9,3,6]))},{path:"/race",title:"Race",summary:"Two models answer the same prompt, timed side by side.",group:"studio",tag:"sf-race-page",load:()=>f(()=>import("./race-BmxAipU9.js"),__vite__mapDeps([10,11,12,4,3,2]))},{path:"/structure",title:"Structure",summary:"Turn a text into JSON that fits a schema, field by field.",group:"studio",tag:"sf-structure-page",load:()=>f(()=>import("./structure-DhZCwmn9.js"),__vite__mapDeps([13,8,14,3,9,4,15,5]))},{path:"/cost",title:"Cost",summary:"Live charts of this server: steps, positions, queue and speed.",group:"studio",tag:"sf-cost-page",load:()=>f(()=>import("./cost-BVbhQOuu.js"),__vite__mapDeps([16,11]))},{path:"/tab",title:"Tab",summary:"Run a model in this browser, without server or network.",group:"studio",tag:"sf-tab-page",load:()=>f(()=>import("./tab-5n0Z5joZ.js"),__vite__mapDeps([17,1,2,3,4,5])),isAlone:!0},{path:"/todo",title:"To-do",summary:"Describe a list, then say how to change it.",group:"apps",tag:"sf-todo-page",load:()=>f(()=>import("./todo-3FgLdNwG.js"),__vite__mapDeps([18,19,15,20,12,4,3,5,14,9]))},{path:"/encyclopedia",title:"Encyclopedia",summary:"Open any topic: its page is written while you watch.",group:"apps",tag:"sf-encyclopedia-page",load:()=>f(()=>import("./encyclopedia-yLETDU81.js"),__vite__mapDeps([21,9,3,22,19,6,15,2,4,12,23,24]))},{path:"/forum",title:"Forum",summary:"A forum on any topic, where models post and reply to you.",group:"apps",tag:"sf-forum-page",load:()=>f(()=>import("./forum-8ToRdg4J.js"),__vite__mapDeps([25,9,3,4,22,19,6,15,2,12,23]))},{path:"/desktop",title:"Desktop",summary:"Files, a terminal, and apps that a model writes when you open them.",group:"apps",tag:"sf-desktop-page",load:()=>f(()=>import("./desktop-CTIFDDjL.js"),__vite__mapDeps([26,9,3,4,15,20,12,5,14,24,23,19]))}];function S(s){return D.find(t=>s===t.path||s.startsWith(`${t.path}/`))}function me(s){const t=s.split("/").slice(2).join("/");try{return decodeURIComponent(t)}catch{return t}}function fe(s,{replace:t=!1}={}){history[t?"replaceState":"pushState"](null,"",s),t||window.scrollTo(0,0),window.dispatchEvent(new PopStateEvent("popstate"))}function Q(s){window.dispatchEvent(new CustomEvent("sf-say",{detail:s}))}function Pe(s,t){Q({text:s,kind:"note",quiet:!1,action:t})}function Oe(s){Q({text:s,kind:"note",quiet:!0})}function ge(s){return s instanceof DOMException&&s.name==="AbortError"}function $e(s){return s instanceof Error?s.message:String(s)}function mt(s){ge(s)||Q({text:$e(s),kind:"error",quiet:!1})}var ve=Object.defineProperty,ye=Object.getOwnPropertyDescriptor,A=(s,t,e,i)=>{for(var r=i>1?void 0:i?ye(t,e):t,n=s.length-1,o;n>=0;n--)(o=s[n])&&(r=(i?o(t,e,r):o(r))||r);return i&&r&&ve(t,e,r),r};const _e=6e3,we={system:"light",light:"dark",dark:"system"};let $=class extends R{constructor(){super(...arguments),this.path=location.pathname,this.loaded=new Set,this.theme=I().theme,this.shown=null,this.spoken="",this.hiding=0}connectedCallback(){super.connectedCallback(),Et(),addEventListener("sf-looks",()=>this.theme=I().theme),addEventListener("popstate",()=>{this.path=location.pathname,this.openPage()}),addEventListener("sf-say",({detail:s})=>{this.spoken=s.text,!s.quiet&&(this.shown=s,clearTimeout(this.hiding),this.hiding=window.setTimeout(()=>this.shown=null,_e))}),addEventListener("unhandledrejection",s=>mt(s.reason)),le.askForKey=()=>this.askForKey(),this.openPage()}firstUpdated(){const s=this.renderRoot.querySelector("nav");s!==null&&new ResizeObserver(()=>this.showLink()).observe(s)}updated(s){s.has("path")&&this.showLink()}showLink(){this.renderRoot.querySelector("nav [aria-current]")?.scrollIntoView({block:"nearest",inline:"center"})}openPage(){const s=S(this.path);document.title=s===void 0?"Sfumato":`${s.title} · Sfumato`,!(s===void 0||this.loaded.has(s.tag))&&s.load().then(()=>this.loaded=new Set([...this.loaded,s.tag]),mt)}async askForKey(){await this.updateComplete;const s=this.keyDialog;return s.returnValue="",s.showModal(),await new Promise(t=>{s.addEventListener("close",t,{once:!0})}),s.returnValue==="ok"&&s.querySelector("input")?.value||null}onClick(s){const t=s.composedPath().find(i=>i instanceof HTMLAnchorElement),e=s.button===0&&!(s.ctrlKey||s.metaKey||s.shiftKey||s.altKey);t===void 0||!e||t.target!==""||t.hasAttribute("download")||t.origin!==location.origin||t.pathname!=="/"&&S(t.pathname)===void 0||S(t.pathname)?.isAlone===!0||S(this.path)?.isAlone===!0||(s.preventDefault(),fe(t.pathname+t.search+t.hash))}link(s){return g`<a href=${s.path} aria-current=${S(this.path)===s?"page":u}
      >${s.title}</a
    >`}render(){const s=S(this.path);return g`<div style="display: contents" @click=${this.onClick}>
      <header>
        <a class="name" href="/"><img src="/icon.svg" width="26" height="26" alt="" />Sfumato</a>
        <nav aria-label="Pages">
          ${D.filter(({group:t})=>t==="studio").map(t=>this.link(t))}
          <span class="gap"></span>
          ${D.filter(({group:t})=>t==="apps").map(t=>this.link(t))}
        </nav>
        <button class="quiet" @click=${()=>de({theme:we[this.theme]})}>
          Theme: ${this.theme}
        </button>
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
          <h2 id="key-title">This server needs a key</h2>
          <label>Key <input type="password" autocomplete="off" autofocus /></label>
          <div class="row">
            <button class="primary" value="ok">Use it</button>
            <button value="">Cancel</button>
          </div>
        </form>
      </dialog>
    </div>`}action({action:s}){return s===void 0?u:g`<button class="quiet" @click=${()=>{this.shown=null,s.run()}}>${s.label}</button>`}page(s){if(!this.loaded.has(s.tag))return g`<p class="muted" role="status">Opening ${s.title} …</p>`;const t=Qt(s.tag);return ee`<${t} .place=${me(this.path)}></${t}>`}overview(){const s=t=>g`<ul class="pages">
        ${D.filter(e=>e.group===t).map(e=>g`<li>
                <a class="card" href=${e.path}
                  ><strong>${e.title}</strong><span class="muted">${e.summary}</span></a
                >
              </li>`)}
      </ul>`;return g`<h1>Watch text take shape, and change it in place</h1>
      <p class="muted">Every page talks only to this server, on this machine.</p>
      <h2>Studio</h2>
      ${s("studio")}
      <h2>Apps</h2>
      ${s("apps")}`}};$.styles=[se,J`
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
        grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr));
        gap: 0.75rem;
        list-style: none;
        padding: 0;
        margin: 0 0 2rem;
      }
      /* Six stand in two rows of three. */
      .pages:has(> :nth-child(5)) {
        grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr));
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
    `];A([M()],$.prototype,"path",2);A([M()],$.prototype,"loaded",2);A([M()],$.prototype,"theme",2);A([M()],$.prototype,"shown",2);A([M()],$.prototype,"spoken",2);A([Xt("dialog")],$.prototype,"keyDialog",2);$=A([Wt("sf-app")],$);export{u as A,k as E,bt as L,v as a,Oe as b,le as c,g as d,se as e,Xt as f,R as g,ke as h,J as i,ge as j,Se as k,I as l,$e as m,Gt as n,fe as o,St as p,he as q,M as r,ce as s,Pe as t,mt as u,de as v,Wt as w,xe as x,Ee as y};
