const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/canvas-BQbmhDrf.js","assets/live-Cg5bwphB.js","assets/offsets-EgNy2a1f.js","assets/keys-D98DPntO.js","assets/style-map-Dfcu4NBq.js","assets/take-BbVSBBn8.js","assets/canvas-DwdqAIXd.js","assets/canvas-BqwZnn-S.js","assets/take-R79uc_On.js","assets/examples-Vs3VEqa4.js","assets/start-stop-iAhsBg9B.js","assets/models-B0BZkP56.js","assets/prose-Dj4Cixse.js","assets/answer-CwhH4pm4.js","assets/steps-Bb5mR1ze.js","assets/editor-DsQyTIoA.js","assets/code-DPSt_DQg.js","assets/repeat-DFZ7HjUn.js","assets/other-tab-CS299ns6.js","assets/race-BbK9AIhI.js","assets/intervals-CY-SNFsX.js","assets/structure-DnW9fAXs.js","assets/cost-DPW9Ftik.js","assets/tab-N7ZGs9fF.js","assets/todo-D6JhL2Am.js","assets/screen-D9lfN4HQ.js","assets/focus-BpYcMQ1a.js","assets/encyclopedia-CYeJH9fG.js","assets/writing-MmKsNQc3.js","assets/encyclopedia-BAz1BOUt.js","assets/forum-BmhRUM_H.js","assets/desktop-BnWKPBw8.js"])))=>i.map(i=>d[i]);
/**
 * @license
 * Copyright 2019 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const j=globalThis,J=j.ShadowRoot&&(j.ShadyCSS===void 0||j.ShadyCSS.nativeShadow)&&"adoptedStyleSheets"in Document.prototype&&"replace"in CSSStyleSheet.prototype,G=Symbol(),it=new WeakMap;let $t=class{constructor(t,e,r){if(this._$cssResult$=!0,r!==G)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=t,this.t=e}get styleSheet(){let t=this.o;const e=this.t;if(J&&t===void 0){const r=e!==void 0&&e.length===1;r&&(t=it.get(e)),t===void 0&&((this.o=t=new CSSStyleSheet).replaceSync(this.cssText),r&&it.set(e,t))}return t}toString(){return this.cssText}};const Ot=s=>new $t(typeof s=="string"?s:s+"",void 0,G),Z=(s,...t)=>{const e=s.length===1?s[0]:t.reduce((r,i,n)=>r+(o=>{if(o._$cssResult$===!0)return o.cssText;if(typeof o=="number")return o;throw Error("Value passed to 'css' function must be a 'css' function result: "+o+". Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.")})(i)+s[n+1],s[0]);return new $t(e,s,G)},Tt=(s,t)=>{if(J)s.adoptedStyleSheets=t.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(const e of t){const r=document.createElement("style"),i=j.litNonce;i!==void 0&&r.setAttribute("nonce",i),r.textContent=e.cssText,s.appendChild(r)}},nt=J?s=>s:s=>s instanceof CSSStyleSheet?(t=>{let e="";for(const r of t.cssRules)e+=r.cssText;return Ot(e)})(s):s;/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const{is:Ct,defineProperty:Rt,getOwnPropertyDescriptor:Ut,getOwnPropertyNames:Mt,getOwnPropertySymbols:Lt,getPrototypeOf:Nt}=Object,z=globalThis,ot=z.trustedTypes,jt=ot?ot.emptyScript:"",Dt=z.reactiveElementPolyfillSupport,R=(s,t)=>s,H={toAttribute(s,t){switch(t){case Boolean:s=s?jt:null;break;case Object:case Array:s=s==null?s:JSON.stringify(s)}return s},fromAttribute(s,t){let e=s;switch(t){case Boolean:e=s!==null;break;case Number:e=s===null?null:Number(s);break;case Object:case Array:try{e=JSON.parse(s)}catch{e=null}}return e}},X=(s,t)=>!Ct(s,t),at={attribute:!0,type:String,converter:H,reflect:!1,useDefault:!1,hasChanged:X};Symbol.metadata??=Symbol("metadata"),z.litPropertyMetadata??=new WeakMap;let S=class extends HTMLElement{static addInitializer(t){this._$Ei(),(this.l??=[]).push(t)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(t,e=at){if(e.state&&(e.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(t)&&((e=Object.create(e)).wrapped=!0),this.elementProperties.set(t,e),!e.noAccessor){const r=Symbol(),i=this.getPropertyDescriptor(t,r,e);i!==void 0&&Rt(this.prototype,t,i)}}static getPropertyDescriptor(t,e,r){const{get:i,set:n}=Ut(this.prototype,t)??{get(){return this[e]},set(o){this[e]=o}};return{get:i,set(o){const l=i?.call(this);n?.call(this,o),this.requestUpdate(t,l,r)},configurable:!0,enumerable:!0}}static getPropertyOptions(t){return this.elementProperties.get(t)??at}static _$Ei(){if(this.hasOwnProperty(R("elementProperties")))return;const t=Nt(this);t.finalize(),t.l!==void 0&&(this.l=[...t.l]),this.elementProperties=new Map(t.elementProperties)}static finalize(){if(this.hasOwnProperty(R("finalized")))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(R("properties"))){const e=this.properties,r=[...Mt(e),...Lt(e)];for(const i of r)this.createProperty(i,e[i])}const t=this[Symbol.metadata];if(t!==null){const e=litPropertyMetadata.get(t);if(e!==void 0)for(const[r,i]of e)this.elementProperties.set(r,i)}this._$Eh=new Map;for(const[e,r]of this.elementProperties){const i=this._$Eu(e,r);i!==void 0&&this._$Eh.set(i,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(t){const e=[];if(Array.isArray(t)){const r=new Set(t.flat(1/0).reverse());for(const i of r)e.unshift(nt(i))}else t!==void 0&&e.push(nt(t));return e}static _$Eu(t,e){const r=e.attribute;return r===!1?void 0:typeof r=="string"?r:typeof t=="string"?t.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(t=>this.enableUpdating=t),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(t=>t(this))}addController(t){(this._$EO??=new Set).add(t),this.renderRoot!==void 0&&this.isConnected&&t.hostConnected?.()}removeController(t){this._$EO?.delete(t)}_$E_(){const t=new Map,e=this.constructor.elementProperties;for(const r of e.keys())this.hasOwnProperty(r)&&(t.set(r,this[r]),delete this[r]);t.size>0&&(this._$Ep=t)}createRenderRoot(){const t=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return Tt(t,this.constructor.elementStyles),t}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(t=>t.hostConnected?.())}enableUpdating(t){}disconnectedCallback(){this._$EO?.forEach(t=>t.hostDisconnected?.())}attributeChangedCallback(t,e,r){this._$AK(t,r)}_$ET(t,e){const r=this.constructor.elementProperties.get(t),i=this.constructor._$Eu(t,r);if(i!==void 0&&r.reflect===!0){const n=(r.converter?.toAttribute!==void 0?r.converter:H).toAttribute(e,r.type);this._$Em=t,n==null?this.removeAttribute(i):this.setAttribute(i,n),this._$Em=null}}_$AK(t,e){const r=this.constructor,i=r._$Eh.get(t);if(i!==void 0&&this._$Em!==i){const n=r.getPropertyOptions(i),o=typeof n.converter=="function"?{fromAttribute:n.converter}:n.converter?.fromAttribute!==void 0?n.converter:H;this._$Em=i;const l=o.fromAttribute(e,n.type);this[i]=l??this._$Ej?.get(i)??l,this._$Em=null}}requestUpdate(t,e,r,i=!1,n){if(t!==void 0){const o=this.constructor;if(i===!1&&(n=this[t]),r??=o.getPropertyOptions(t),!((r.hasChanged??X)(n,e)||r.useDefault&&r.reflect&&n===this._$Ej?.get(t)&&!this.hasAttribute(o._$Eu(t,r))))return;this.C(t,e,r)}this.isUpdatePending===!1&&(this._$ES=this._$EP())}C(t,e,{useDefault:r,reflect:i,wrapped:n},o){r&&!(this._$Ej??=new Map).has(t)&&(this._$Ej.set(t,o??e??this[t]),n!==!0||o!==void 0)||(this._$AL.has(t)||(this.hasUpdated||r||(e=void 0),this._$AL.set(t,e)),i===!0&&this._$Em!==t&&(this._$Eq??=new Set).add(t))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}const t=this.scheduleUpdate();return t!=null&&await t,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(const[i,n]of this._$Ep)this[i]=n;this._$Ep=void 0}const r=this.constructor.elementProperties;if(r.size>0)for(const[i,n]of r){const{wrapped:o}=n,l=this[i];o!==!0||this._$AL.has(i)||l===void 0||this.C(i,void 0,n,l)}}let t=!1;const e=this._$AL;try{t=this.shouldUpdate(e),t?(this.willUpdate(e),this._$EO?.forEach(r=>r.hostUpdate?.()),this.update(e)):this._$EM()}catch(r){throw t=!1,this._$EM(),r}t&&this._$AE(e)}willUpdate(t){}_$AE(t){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(t)),this.updated(t)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(t){return!0}update(t){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(t){}firstUpdated(t){}};S.elementStyles=[],S.shadowRootOptions={mode:"open"},S[R("elementProperties")]=new Map,S[R("finalized")]=new Map,Dt?.({ReactiveElement:S}),(z.reactiveElementVersions??=[]).push("2.1.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Y=globalThis,lt=s=>s,I=Y.trustedTypes,ct=I?I.createPolicy("lit-html",{createHTML:s=>s}):void 0,_t="$lit$",_=`lit$${Math.random().toFixed(9).slice(2)}$`,wt="?"+_,Ht=`<${wt}>`,A=document,M=()=>A.createComment(""),L=s=>s===null||typeof s!="object"&&typeof s!="function",Q=Array.isArray,It=s=>Q(s)||typeof s?.[Symbol.iterator]=="function",B=`[ 	
\f\r]`,C=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,ht=/-->/g,dt=/>/g,b=RegExp(`>|${B}(?:([^\\s"'>=/]+)(${B}*=${B}*(?:[^ 	
\f\r"'\`<>=]|("|')|))|$)`,"g"),ut=/'/g,pt=/"/g,bt=/^(?:script|style|textarea|title)$/i,Et=s=>(t,...e)=>({_$litType$:s,strings:t,values:e}),f=Et(1),Se=Et(2),k=Symbol.for("lit-noChange"),u=Symbol.for("lit-nothing"),mt=new WeakMap,E=A.createTreeWalker(A,129);function At(s,t){if(!Q(s)||!s.hasOwnProperty("raw"))throw Error("invalid template strings array");return ct!==void 0?ct.createHTML(t):t}const qt=(s,t)=>{const e=s.length-1,r=[];let i,n=t===2?"<svg>":t===3?"<math>":"",o=C;for(let l=0;l<e;l++){const a=s[l];let c,d,h=-1,p=0;for(;p<a.length&&(o.lastIndex=p,d=o.exec(a),d!==null);)p=o.lastIndex,o===C?d[1]==="!--"?o=ht:d[1]!==void 0?o=dt:d[2]!==void 0?(bt.test(d[2])&&(i=RegExp("</"+d[2],"g")),o=b):d[3]!==void 0&&(o=b):o===b?d[0]===">"?(o=i??C,h=-1):d[1]===void 0?h=-2:(h=o.lastIndex-d[2].length,c=d[1],o=d[3]===void 0?b:d[3]==='"'?pt:ut):o===pt||o===ut?o=b:o===ht||o===dt?o=C:(o=b,i=void 0);const m=o===b&&s[l+1].startsWith("/>")?" ":"";n+=o===C?a+Ht:h>=0?(r.push(c),a.slice(0,h)+_t+a.slice(h)+_+m):a+_+(h===-2?l:m)}return[At(s,n+(s[e]||"<?>")+(t===2?"</svg>":t===3?"</math>":"")),r]};class N{constructor({strings:t,_$litType$:e},r){let i;this.parts=[];let n=0,o=0;const l=t.length-1,a=this.parts,[c,d]=qt(t,e);if(this.el=N.createElement(c,r),E.currentNode=this.el.content,e===2||e===3){const h=this.el.content.firstChild;h.replaceWith(...h.childNodes)}for(;(i=E.nextNode())!==null&&a.length<l;){if(i.nodeType===1){if(i.hasAttributes())for(const h of i.getAttributeNames())if(h.endsWith(_t)){const p=d[o++],m=i.getAttribute(h).split(_),x=/([.?@])?(.*)/.exec(p);a.push({type:1,index:n,name:x[2],strings:m,ctor:x[1]==="."?Vt:x[1]==="?"?Bt:x[1]==="@"?Wt:V}),i.removeAttribute(h)}else h.startsWith(_)&&(a.push({type:6,index:n}),i.removeAttribute(h));if(bt.test(i.tagName)){const h=i.textContent.split(_),p=h.length-1;if(p>0){i.textContent=I?I.emptyScript:"";for(let m=0;m<p;m++)i.append(h[m],M()),E.nextNode(),a.push({type:2,index:++n});i.append(h[p],M())}}}else if(i.nodeType===8)if(i.data===wt)a.push({type:2,index:n});else{let h=-1;for(;(h=i.data.indexOf(_,h+1))!==-1;)a.push({type:7,index:n}),h+=_.length-1}n++}}static createElement(t,e){const r=A.createElement("template");return r.innerHTML=t,r}}function P(s,t,e=s,r){if(t===k)return t;let i=r!==void 0?e._$Co?.[r]:e._$Cl;const n=L(t)?void 0:t._$litDirective$;return i?.constructor!==n&&(i?._$AO?.(!1),n===void 0?i=void 0:(i=new n(s),i._$AT(s,e,r)),r!==void 0?(e._$Co??=[])[r]=i:e._$Cl=i),i!==void 0&&(t=P(s,i._$AS(s,t.values),i,r)),t}class zt{constructor(t,e){this._$AV=[],this._$AN=void 0,this._$AD=t,this._$AM=e}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(t){const{el:{content:e},parts:r}=this._$AD,i=(t?.creationScope??A).importNode(e,!0);E.currentNode=i;let n=E.nextNode(),o=0,l=0,a=r[0];for(;a!==void 0;){if(o===a.index){let c;a.type===2?c=new O(n,n.nextSibling,this,t):a.type===1?c=new a.ctor(n,a.name,a.strings,this,t):a.type===6&&(c=new Kt(n,this,t)),this._$AV.push(c),a=r[++l]}o!==a?.index&&(n=E.nextNode(),o++)}return E.currentNode=A,i}p(t){let e=0;for(const r of this._$AV)r!==void 0&&(r.strings!==void 0?(r._$AI(t,r,e),e+=r.strings.length-2):r._$AI(t[e])),e++}}class O{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(t,e,r,i){this.type=2,this._$AH=u,this._$AN=void 0,this._$AA=t,this._$AB=e,this._$AM=r,this.options=i,this._$Cv=i?.isConnected??!0}get parentNode(){let t=this._$AA.parentNode;const e=this._$AM;return e!==void 0&&t?.nodeType===11&&(t=e.parentNode),t}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(t,e=this){t=P(this,t,e),L(t)?t===u||t==null||t===""?(this._$AH!==u&&this._$AR(),this._$AH=u):t!==this._$AH&&t!==k&&this._(t):t._$litType$!==void 0?this.$(t):t.nodeType!==void 0?this.T(t):It(t)?this.k(t):this._(t)}O(t){return this._$AA.parentNode.insertBefore(t,this._$AB)}T(t){this._$AH!==t&&(this._$AR(),this._$AH=this.O(t))}_(t){this._$AH!==u&&L(this._$AH)?this._$AA.nextSibling.data=t:this.T(A.createTextNode(t)),this._$AH=t}$(t){const{values:e,_$litType$:r}=t,i=typeof r=="number"?this._$AC(t):(r.el===void 0&&(r.el=N.createElement(At(r.h,r.h[0]),this.options)),r);if(this._$AH?._$AD===i)this._$AH.p(e);else{const n=new zt(i,this),o=n.u(this.options);n.p(e),this.T(o),this._$AH=n}}_$AC(t){let e=mt.get(t.strings);return e===void 0&&mt.set(t.strings,e=new N(t)),e}k(t){Q(this._$AH)||(this._$AH=[],this._$AR());const e=this._$AH;let r,i=0;for(const n of t)i===e.length?e.push(r=new O(this.O(M()),this.O(M()),this,this.options)):r=e[i],r._$AI(n),i++;i<e.length&&(this._$AR(r&&r._$AB.nextSibling,i),e.length=i)}_$AR(t=this._$AA.nextSibling,e){for(this._$AP?.(!1,!0,e);t!==this._$AB;){const r=lt(t).nextSibling;lt(t).remove(),t=r}}setConnected(t){this._$AM===void 0&&(this._$Cv=t,this._$AP?.(t))}}class V{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(t,e,r,i,n){this.type=1,this._$AH=u,this._$AN=void 0,this.element=t,this.name=e,this._$AM=i,this.options=n,r.length>2||r[0]!==""||r[1]!==""?(this._$AH=Array(r.length-1).fill(new String),this.strings=r):this._$AH=u}_$AI(t,e=this,r,i){const n=this.strings;let o=!1;if(n===void 0)t=P(this,t,e,0),o=!L(t)||t!==this._$AH&&t!==k,o&&(this._$AH=t);else{const l=t;let a,c;for(t=n[0],a=0;a<n.length-1;a++)c=P(this,l[r+a],e,a),c===k&&(c=this._$AH[a]),o||=!L(c)||c!==this._$AH[a],c===u?t=u:t!==u&&(t+=(c??"")+n[a+1]),this._$AH[a]=c}o&&!i&&this.j(t)}j(t){t===u?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,t??"")}}class Vt extends V{constructor(){super(...arguments),this.type=3}j(t){this.element[this.name]=t===u?void 0:t}}class Bt extends V{constructor(){super(...arguments),this.type=4}j(t){this.element.toggleAttribute(this.name,!!t&&t!==u)}}class Wt extends V{constructor(t,e,r,i,n){super(t,e,r,i,n),this.type=5}_$AI(t,e=this){if((t=P(this,t,e,0)??u)===k)return;const r=this._$AH,i=t===u&&r!==u||t.capture!==r.capture||t.once!==r.once||t.passive!==r.passive,n=t!==u&&(r===u||i);i&&this.element.removeEventListener(this.name,this,r),n&&this.element.addEventListener(this.name,this,t),this._$AH=t}handleEvent(t){typeof this._$AH=="function"?this._$AH.call(this.options?.host??this.element,t):this._$AH.handleEvent(t)}}class Kt{constructor(t,e,r){this.element=t,this.type=6,this._$AN=void 0,this._$AM=e,this.options=r}get _$AU(){return this._$AM._$AU}_$AI(t){P(this,t)}}const ke={I:O},Ft=Y.litHtmlPolyfillSupport;Ft?.(N,O),(Y.litHtmlVersions??=[]).push("3.3.3");const Jt=(s,t,e)=>{const r=e?.renderBefore??t;let i=r._$litPart$;if(i===void 0){const n=e?.renderBefore??null;r._$litPart$=i=new O(t.insertBefore(M(),n),n,void 0,e??{})}return i._$AI(s),i};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const tt=globalThis;class U extends S{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){const t=super.createRenderRoot();return this.renderOptions.renderBefore??=t.firstChild,t}update(t){const e=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(t),this._$Do=Jt(e,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return k}}U._$litElement$=!0,U.finalized=!0,tt.litElementHydrateSupport?.({LitElement:U});const Gt=tt.litElementPolyfillSupport;Gt?.({LitElement:U});(tt.litElementVersions??=[]).push("4.2.2");/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Zt=s=>(t,e)=>{e!==void 0?e.addInitializer(()=>{customElements.define(s,t)}):customElements.define(s,t)};/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const Xt={attribute:!0,type:String,converter:H,reflect:!1,hasChanged:X},Yt=(s=Xt,t,e)=>{const{kind:r,metadata:i}=e;let n=globalThis.litPropertyMetadata.get(i);if(n===void 0&&globalThis.litPropertyMetadata.set(i,n=new Map),r==="setter"&&((s=Object.create(s)).wrapped=!0),n.set(e.name,s),r==="accessor"){const{name:o}=e;return{set(l){const a=t.get.call(this);t.set.call(this,l),this.requestUpdate(o,a,s,!0,l)},init(l){return l!==void 0&&this.C(o,void 0,s,l),l}}}if(r==="setter"){const{name:o}=e;return function(l){const a=this[o];t.call(this,l),this.requestUpdate(o,a,s,!0,l)}}throw Error("Unsupported decorator location: "+r)};function Qt(s){return(t,e)=>typeof e=="object"?Yt(s,t,e):((r,i,n)=>{const o=i.hasOwnProperty(n);return i.constructor.createProperty(n,r),o?Object.getOwnPropertyDescriptor(i,n):void 0})(s,t,e)}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function T(s){return Qt({...s,state:!0,attribute:!1})}/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const te=(s,t,e)=>(e.configurable=!0,e.enumerable=!0,Reflect.decorate&&typeof t!="object"&&Object.defineProperty(s,t,e),e);/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */function ee(s,t){return(e,r,i)=>{const n=o=>o.renderRoot?.querySelector(s)??null;return te(e,r,{get(){return n(this)}})}}const se=Z`
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
    /* In the direction of the script. */
    unicode-bidi: plaintext;
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
`,Pe=Z`
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
`;async function*W(s){const t=s.pipeThrough(new TextDecoderStream).getReader();let e="",r={event:"message",id:"",data:[]};try{for(;;){const{value:i,done:n}=await t.read(),o=(e+(i??"")).split(n?/\r\n|\r|\n/:/\r\n|\r(?!$)|\n/);e=o.pop()??"";for(const l of o){if(l===""){r.data.length>0&&(yield{...r,data:r.data.join(`
`)}),r={event:"message",id:"",data:[]};continue}const[,a,c]=/^([^:]*)(?:: ?(.*))?$/s.exec(l)??[];a==="data"?r.data.push(c??""):a==="event"?r.event=c??"":a==="id"&&(r.id=c??"")}if(n)return}}finally{await t.cancel().catch(()=>{})}}class y extends Error{constructor(t,e){super(e.message.replace(/; allowed, for example:\n[^]*$/,".")),this.status=t,this.detail=e,this.name="ApiError"}}function re(){try{return sessionStorage.getItem("key")??""}catch{return""}}function ie(s){try{sessionStorage.setItem("key",s)}catch{}}const ft={context_length:null,capabilities:[],loaded:!0,sfumato:{noise:null,canvas_length:1,steps:null,temperature:null,sampler:null,samplers:[],limits:{},max_tokens:null,tasks:[],kinds:[],parameters:[]}},ne=[50,100,300,1e3,1e3,2e3,3e3,3e3];class oe{constructor(t="",e=(i,n)=>fetch(i,n),r=re()){this.base=t,this.fetcher=e,this.key=r,this.askForKey=()=>Promise.resolve(null),this.asking=null}async models(){const{data:t}=await this.json("GET","/v1/models");return t.map(e=>({...ft,...e,sfumato:{...ft.sfumato,...e.sfumato}}))}async createCanvases(t){const e=await this.json("POST","/v1/canvas",{...t,background:!0});return"data"in e?e.data:[e]}async createCanvas(t){const[e]=await this.createCanvases(t);if(e===void 0)throw new y(0,{message:"the server made no canvas"});return e}canvas(t){return this.json("GET",`/v1/canvas/${t}`)}edit(t,e,r){return this.json("POST",`/v1/canvas/${t}/edits`,e,r)}async addPicture(t,e){await this.json("POST",`/v1/canvas/${t}/assets`,e)}undo(t,e){return this.json("POST",`/v1/canvas/${t}/undo`,{base_rev:e})}async revisions(t){return(await this.json("GET",`/v1/canvas/${t}/revisions`)).data}async deleteCanvas(t){await this.json("DELETE",`/v1/canvas/${t}`)}async*follow(t,e={}){let{after:r}=e;for(let i=0;;)try{const n=`/v1/canvas/${t}/events${r===void 0?"":`?after=${r}`}`,o=await this.request("GET",n,void 0,e.signal);for await(const{data:l}of W(o.body??new Blob().stream())){const a=JSON.parse(l),c=a.type==="canvas.snapshot";if(!(r!==void 0&&(c?a.seq<r:a.seq<=r))){if(!c&&r!==void 0&&a.seq>r+1)throw new y(0,{message:"events are missing"});if(i=0,r=a.seq,yield a,e.pictures!==!0&&(a.type==="canvas.done"||a.type==="canvas.error"||a.type==="canvas.snapshot"&&a.status!=="running"))return}}if(e.pictures===!0&&!ae(await this.canvas(t)))return;throw new y(0,{message:"the connection ended"})}catch(n){if(e.signal?.aborted===!0)return;const o=ne[i++];if(o===void 0||n instanceof y&&n.status!==0)throw n;await new Promise(l=>setTimeout(l,o))}}async*stream(t,e){const r=await this.request("POST","/v1/canvas",{...t,stream:!0},e);if(r.body!==null)for await(const{data:i}of W(r.body))yield JSON.parse(i)}async*chat(t,e){const r={...t,stream:!0,stream_options:{include_usage:!0}},i=await this.request("POST","/v1/chat/completions",r,e);if(i.body!==null)for await(const{data:n}of W(i.body)){if(n==="[DONE]")return;const o=JSON.parse(n);if("error"in o)throw new y(i.status,o.error);yield o}}async json(t,e,r,i){return await(await this.request(t,e,r,i)).json()}async newKey(){this.asking??=this.askForKey().finally(()=>this.asking=null);const t=await this.asking;if(t!==null&&!/^[\x21-\x7e]+$/.test(t))throw new y(401,{message:"A key has only ASCII letters, digits and signs."});return t!==null&&ie(this.key=t),t}async request(t,e,r,i){const n=typeof r=="string"||r instanceof FormData,{key:o}=this,l=o===""?{}:{Authorization:`Bearer ${o}`};r!==void 0&&!n&&(l["Content-Type"]="application/json");let a;try{a=await this.fetcher(this.base+e,{method:t,headers:l,body:n?r:r===void 0?null:JSON.stringify(r),signal:i??null})}catch(d){throw i?.aborted===!0?d:new y(0,{message:"the server cannot be reached; is it running?"})}if(a.ok)return a;if(a.status===401&&(this.key!==o||await this.newKey()!==null))return this.request(t,e,r,i);const c=await a.json().catch(()=>null);throw new y(a.status,c?.error??{message:`the server answered ${a.status}`})}}function ae({status:s,assets:t=[]}){return s==="running"||t.some(e=>e.status==="pending")}const le=new oe;async function Oe(s){try{return new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}).decode(await s.arrayBuffer())}catch{throw new Error(`${s.name} is no text in UTF-8; open a text file`)}}function Te(s,t,e="text/plain;charset=utf-8"){const r=document.createElement("a");r.href=URL.createObjectURL(new Blob([t],{type:e})),r.download=s,r.click(),setTimeout(()=>URL.revokeObjectURL(r.href),1e4)}function ce(s){const t=(s instanceof Error?s.message:String(s)).trim(),e=/^(?:a|an|the|this|that|there|no|it|is|your) /.test(t)?t.charAt(0).toUpperCase()+t.slice(1):t;return/[.!?]$/.test(e)?e:`${e}.`}function et(s){window.dispatchEvent(new CustomEvent("sf-say",{detail:s}))}function he(s,t){const e={text:s,kind:"note",quiet:!1,action:t};return et(e),()=>window.dispatchEvent(new CustomEvent("sf-retract",{detail:e}))}function Ce(s,t){t?F(s<0?"Undone.":"Done again."):he(`There is nothing to ${s<0?"undo":"redo"}.`)}function F(s){et({text:s,kind:"note",quiet:!0})}function de(s){return s instanceof DOMException&&s.name==="AbortError"}function Re(s){return s instanceof Error?s.message:String(s)}function xt(s){de(s)||et({text:ce(s),kind:"error",quiet:!1})}function st(s){return`sfumato.${s}`}function rt(s,t){try{const e=localStorage.getItem(st(s));return e===null?t:JSON.parse(e)}catch{return t}}let K=!1;function ue(s,t){try{localStorage.setItem(st(s),JSON.stringify(t)),K=!1}catch{K||xt("This browser has no room left: what you change now is lost when you close the page."),K=!0}}function pe(s,t){addEventListener("storage",({key:e})=>{e===st(s)&&t(rt(s,null))})}const St={theme:["system","light","dark"],text:["medium","small","large"],motion:["system","reduced"]},kt=Object.keys(St);function q(){return Object.fromEntries(kt.map(s=>[s,rt(s,St[s][0])]))}function Pt(s){for(const[t,e]of Object.entries(s))rt(t,null)!==e&&ue(t,e);Object.assign(document.documentElement.dataset,s),window.dispatchEvent(new Event("sf-looks"))}function me(){for(const s of kt)pe(s,()=>Pt({[s]:q()[s]}))}function Ue(){const{theme:s}=q();return s==="system"?matchMedia("(prefers-color-scheme: dark)").matches:s==="dark"}function Me(){return getComputedStyle(document.documentElement).getPropertyValue("--motion").trim()==="0"}const fe=(function(){const t=typeof document<"u"&&document.createElement("link").relList;return t&&t.supports&&t.supports("modulepreload")?"modulepreload":"preload"})(),ge=function(s){return"/"+s},gt={},g=function(t,e,r){let i=Promise.resolve();if(e&&e.length>0){let o=function(c){return Promise.all(c.map(d=>Promise.resolve(d).then(h=>({status:"fulfilled",value:h}),h=>({status:"rejected",reason:h}))))};document.getElementsByTagName("link");const l=document.querySelector("meta[property=csp-nonce]"),a=l?.nonce||l?.getAttribute("nonce");i=o(e.map(c=>{if(c=ge(c),c in gt)return;gt[c]=!0;const d=c.endsWith(".css"),h=d?'[rel="stylesheet"]':"";if(document.querySelector(`link[href="${c}"]${h}`))return;const p=document.createElement("link");if(p.rel=d?"stylesheet":fe,d||(p.as="script"),p.crossOrigin="",p.href=c,a&&p.setAttribute("nonce",a),document.head.appendChild(p),d)return new Promise((m,x)=>{p.addEventListener("load",m),p.addEventListener("error",()=>x(new Error(`Unable to preload CSS for ${c}`)))})}))}function n(o){const l=new Event("vite:preloadError",{cancelable:!0});if(l.payload=o,window.dispatchEvent(l),!l.defaultPrevented)throw o}return i.then(o=>{for(const l of o||[])l.status==="rejected"&&n(l.reason);return t().catch(n)})},D=[{path:"/canvas",title:"Canvas",summary:"Watch a text form step by step, and change it in place.",group:"studio",tag:"sf-canvas-page",load:()=>g(()=>import("./canvas-BQbmhDrf.js"),__vite__mapDeps([0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]))},{path:"/editor",title:"Editor",summary:"Select code and say what to change; nothing else is touched.",group:"studio",tag:"sf-editor-page",load:()=>g(()=>import("./editor-DsQyTIoA.js"),__vite__mapDeps([15,16,11,17,2,3,18,10]))},{path:"/race",title:"Race",summary:"Two to four models answer the same prompt, timed side by side.",group:"studio",tag:"sf-race-page",load:()=>g(()=>import("./race-BbK9AIhI.js"),__vite__mapDeps([19,20,13,7,2,6,4,9,11]))},{path:"/structure",title:"Structure",summary:"Turn a text into JSON that fits a schema, field by field.",group:"studio",tag:"sf-structure-page",load:()=>g(()=>import("./structure-DnW9fAXs.js"),__vite__mapDeps([21,16,1,2,3,17,11,10,7,14,8]))},{path:"/cost",title:"Cost",summary:"Live charts of this server: steps, positions, queue and speed.",group:"studio",tag:"sf-cost-page",load:()=>g(()=>import("./cost-DPW9Ftik.js"),__vite__mapDeps([22,20,11]))},{path:"/tab",title:"Tab",summary:"Run a model in this browser, without server or network.",group:"studio",tag:"sf-tab-page",load:()=>g(()=>import("./tab-N7ZGs9fF.js"),__vite__mapDeps([23,5,6,2,4,7,8,9,10])),isAlone:!0},{path:"/todo",title:"To-do",summary:"Describe a list, then say how to change it.",group:"apps",tag:"sf-todo-page",load:()=>g(()=>import("./todo-D6JhL2Am.js"),__vite__mapDeps([24,11,18,10,3,14,25,13,7,2,8,1,17,26]))},{path:"/encyclopedia",title:"Encyclopedia",summary:"Open any topic: its page is written while you watch.",group:"apps",tag:"sf-encyclopedia-page",load:()=>g(()=>import("./encyclopedia-CYeJH9fG.js"),__vite__mapDeps([27,17,2,3,28,14,26,11,6,4,7,13,12,29]))},{path:"/forum",title:"Forum",summary:"A forum on any topic, where models post and reply to you.",group:"apps",tag:"sf-forum-page",load:()=>g(()=>import("./forum-BmhRUM_H.js"),__vite__mapDeps([30,17,2,3,7,28,14,26,11,6,4,13,12]))},{path:"/desktop",title:"Desktop",summary:"Files, a terminal, and apps that a model writes when you open them.",group:"apps",tag:"sf-desktop-page",load:()=>g(()=>import("./desktop-BnWKPBw8.js"),__vite__mapDeps([31,17,2,3,4,7,14,25,13,8,1,26,29,12,11,18]))}];function $(s){return D.find(t=>s===t.path||s.startsWith(`${t.path}/`))}function ve(s){const t=s.split("/").slice(2).join("/");try{return decodeURIComponent(t)}catch{return t}}function ye(s,{replace:t=!1}={}){history[t?"replaceState":"pushState"](null,"",s),t||window.scrollTo(0,0),window.dispatchEvent(new PopStateEvent("popstate"))}var $e=Object.defineProperty,_e=Object.getOwnPropertyDescriptor,w=(s,t,e,r)=>{for(var i=r>1?void 0:r?_e(t,e):t,n=s.length-1,o;n>=0;n--)(o=s[n])&&(i=(r?o(t,e,i):o(i))||i);return r&&i&&$e(t,e,i),i};const vt=6e3,we=60,be="(max-width: 48rem)",yt=40,Ee={system:"light",light:"dark",dark:"system"};let v=class extends U{constructor(){super(...arguments),this.path=location.pathname,this.loaded=new Set,this.visited=new Map,this.failed=null,this.theme=q().theme,this.shown=[],this.spoken=""}connectedCallback(){super.connectedCallback(),addEventListener("sf-looks",()=>this.theme=q().theme),me(),addEventListener("popstate",()=>{this.path=location.pathname,this.openPage()}),addEventListener("sf-say",({detail:s})=>{if(this.spoken=this.spoken===s.text?`${s.text} `:s.text,s.quiet)return;const t=this.shown.filter(({text:r,action:i})=>r!==s.text&&(i===void 0||s.action===void 0));this.shown=[...t,s].slice(matchMedia(be).matches?-1:-3);const e=()=>{this.renderRoot.querySelector(".saying:hover, .saying:focus-within")!==null?setTimeout(e,vt):this.hide(s)};setTimeout(e,Math.max(vt,we*s.text.length))}),addEventListener("sf-retract",({detail:s})=>this.hide(s)),addEventListener("unhandledrejection",s=>xt(s.reason)),le.askForKey=()=>this.askForKey(),this.openPage()}firstUpdated(){const s=this.renderRoot.querySelector("nav");if(s===null)return;const t=()=>{const{scrollLeft:e,scrollWidth:r,clientWidth:i}=s;s.style.setProperty("--before",`${Math.min(yt,e)}px`),s.style.setProperty("--after",`${Math.min(yt,r-i-e)}px`)};s.addEventListener("scroll",t,{passive:!0}),new ResizeObserver(()=>{this.showLink(),t()}).observe(s)}updated(s){const t=s.get("path");if(t===void 0)return;this.showLink();const e=$(this.path);$(t)!==e&&(this.renderRoot.querySelector("main")?.focus({preventScroll:!0}),F(e?.title??"All pages"))}showLink(){this.renderRoot.querySelector("nav [aria-current]")?.scrollIntoView({block:"nearest",inline:"center"})}openPage(){const s=$(this.path);document.title=s===void 0?"Sfumato":`${s.title} · Sfumato`,!(s===void 0||this.loaded.has(s.tag))&&(this.failed=null,s.load().then(()=>this.loaded=new Set([...this.loaded,s.tag]),()=>this.failed=s))}async reopen(){const s=this.failed;this.failed=null;try{await fetch(location.href,{method:"HEAD"}),location.reload()}catch{this.failed=s,F("The server still cannot be reached.")}}async askForKey(){await this.updateComplete;const s=this.keyDialog;return s.returnValue="",s.showModal(),await new Promise(t=>{s.addEventListener("close",t,{once:!0})}),s.returnValue==="ok"&&s.querySelector("input")?.value||null}onClick(s){const t=s.composedPath().find(r=>r instanceof HTMLAnchorElement),e=s.button===0&&!(s.ctrlKey||s.metaKey||s.shiftKey||s.altKey);t===void 0||!e||t.target!==""||t.hasAttribute("download")||t.origin!==location.origin||t.pathname!=="/"&&$(t.pathname)===void 0||$(t.pathname)?.isAlone===!0||$(this.path)?.isAlone===!0||(s.preventDefault(),ye(t.pathname+t.search+t.hash))}link(s){return f`<a href=${s.path} aria-current=${$(this.path)===s?"page":u}
      >${s.title}</a
    >`}render(){const s=$(this.path);return f`<div style="display: contents" @click=${this.onClick}>
      <header>
        <a
          class="skip"
          href="#main"
          @click=${t=>{t.preventDefault(),this.renderRoot.querySelector("main")?.focus()}}
          >Skip to content</a
        >
        <a class="name" href="/"><img src="/icon.svg" width="26" height="26" alt="" />Sfumato</a>
        <nav aria-label="Pages">
          ${D.filter(({group:t})=>t==="studio").map(t=>this.link(t))}
          <span class="gap"></span>
          ${D.filter(({group:t})=>t==="apps").map(t=>this.link(t))}
        </nav>
        <button class="quiet" @click=${()=>Pt({theme:Ee[this.theme]})}>
          Theme: ${this.theme}
        </button>
      </header>
      <main tabindex="-1">${s===void 0?this.overview():this.page(s)}</main>
      ${this.shown.length===0?u:f`<div class="saying">${this.shown.map(t=>this.saying(t))}</div>`}
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
    </div>`}hide(s){this.shown=this.shown.filter(t=>t!==s)}saying(s){const{text:t,kind:e,action:r}=s;return f`<div class=${e}>
      <span>${t}</span>
      ${r===void 0?u:f`<button class="quiet" @click=${()=>{this.hide(s),r?.run()}}>${r.label}</button>`}
      <button class="quiet" aria-label="Close the message" @click=${()=>this.hide(s)}>✕</button>
    </div>`}page(s){if(this.failed===s)return f`<h1>${s.title}</h1>
        <div class="card" role="alert">
          <p class="error">This page could not be loaded. Is the server running?</p>
          <button @click=${()=>this.reopen()}>Try again</button>
        </div>`;if(!this.loaded.has(s.tag))return f`<p class="muted" role="status">Opening ${s.title} …</p>`;const t=this.visited.get(s.tag)??document.createElement(s.tag);return this.visited.set(s.tag,t),t.place=ve(this.path),t}overview(){const s=t=>f`<ul class="pages">
        ${D.filter(e=>e.group===t).map(e=>f`<li>
                <a class="card" href=${e.path}
                  ><strong>${e.title}</strong><span class="muted">${e.summary}</span></a
                >
              </li>`)}
      </ul>`;return f`<h1>Watch text take shape, and change it in place</h1>
      <p class="muted">
        Every page talks only to the server that it came from. That server hands nothing on, unless it was
        started with <code>--upstream</code> or <code>--images</code>.
      </p>
      <h2>Studio</h2>
      ${s("studio")}
      <h2>Apps</h2>
      ${s("apps")}`}};v.styles=[se,Z`
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
        /* That there are more pages is to be seen. */
        mask-image: linear-gradient(
          to right,
          transparent,
          black var(--before, 0px),
          black calc(100% - var(--after, 0px)),
          transparent
        );
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
      /* Its words end where the page does. */
      header > button {
        margin-right: -0.8rem;
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
      main:focus {
        outline: none;
      }
      main {
        padding: 1.25rem 1rem 3rem;
        max-width: 82rem;
        width: 100%;
        margin-inline: auto;
        min-width: 0;
      }
      /* What a message covers can be scrolled up. */
      @media (max-width: 48rem) {
        main {
          padding-bottom: 8rem;
        }
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      code {
        white-space: nowrap;
      }
      .card p {
        margin: 0 0 0.5rem;
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
      @media (min-width: 60rem) {
        .pages:has(> :nth-child(5)) {
          grid-template-columns: repeat(3, 1fr);
        }
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
        display: grid;
        gap: 0.5rem;
        justify-items: center;
        /* What is beside it can be clicked. */
        pointer-events: none;
        z-index: 1000;
      }
      .saying > div {
        display: flex;
        gap: 0.5rem;
        align-items: center;
        max-width: min(40rem, 100%);
        padding: 0.4rem 0.4rem 0.4rem 1rem;
        border-radius: 10px;
        background: var(--text);
        color: var(--bg);
        pointer-events: auto;
      }
      .saying > .error {
        background: var(--error);
      }
      .saying span {
        max-height: 40vh;
        overflow-y: auto;
        overflow-wrap: anywhere;
        white-space: pre-line;
      }
      .saying button {
        flex: none;
        font-weight: 600;
      }
      .saying button:is(:hover, :focus-visible) {
        border-color: currentcolor;
        outline-color: currentcolor;
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
    `];w([T()],v.prototype,"path",2);w([T()],v.prototype,"loaded",2);w([T()],v.prototype,"failed",2);w([T()],v.prototype,"theme",2);w([T()],v.prototype,"shown",2);w([T()],v.prototype,"spoken",2);w([ee("dialog")],v.prototype,"keyDialog",2);v=w([Zt("sf-app")],v);export{u as A,Pt as B,Zt as C,Pe as D,k as E,Ce as F,Se as G,St as L,y as a,F as b,le as c,f as d,se as e,ee as f,U as g,Ue as h,Z as i,Me as j,de as k,ke as l,q as m,Re as n,Qt as o,ye as p,pe as q,T as r,Ot as s,Oe as t,ue as u,rt as v,Te as w,he as x,xt as y,ce as z};
