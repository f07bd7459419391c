import{l as G,w as Q}from"./code-0VB7YPsG.js";import{e as B,i as K,n as w,g as U,A as $,d as u,w as Y,s as Z,u as F,c as q,q as tt,b as D,t as L,r as x,f as et}from"./index-B3E5B1W5.js";import{l as st}from"./live-DZVJQnX6.js";import{c as rt}from"./repeat-CMpXvs-E.js";import{t as it}from"./canvas-BqwZnn-S.js";import{n as R,c as nt,p as P,g as X}from"./steps-mb0g5HZU.js";import{a as ot,g as at,n as ct,l as lt}from"./take-Cb18_Fsc.js";import"./offsets-EgNy2a1f.js";const pt=8,ut=3,ht=200;function m(t){return t.map(e=>`/${e.replaceAll("~","~0").replaceAll("/","~1")}`).join("")}function d(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}function v(t,e){return Array.isArray(t)?/^\d+$/.test(e)?t[Number(e)]:void 0:d(t)&&Object.hasOwn(t,e)?t[e]:void 0}function V(t,e){const s=new Set;for(;d(t)&&typeof t.$ref=="string"&&!s.has(t);)s.add(t),t=t.$ref.split("/").slice(1).map(i=>i.replaceAll("~1","/").replaceAll("~0","~")).reduce(v,e);return d(t)&&typeof t.$ref!="string"?t:{}}function dt(t,e){return v(t.properties,e)??(d(t.additionalProperties)?t.additionalProperties:{})}function ft(t,e){return(Array.isArray(t.prefixItems)?t.prefixItems[e]:void 0)??t.items??{}}function mt(t,e){return T(t,t,e,[],!0)}function T(t,e,s,r,i){const n=V(t,e),o={path:r,name:typeof n.title=="string"?n.title:r.at(-1)??"The answer",description:typeof n.description=="string"?n.description:"",isRequired:i,choices:[],children:[]},c=yt(n);if(c!==null)return{...o,control:"choice",choices:c};if(r.length>=(s===void 0?ut:pt))return{...o,control:"any"};if(n.type==="object"||d(n.properties)){const l=Array.isArray(n.required)?n.required:[],p=new Set([...Object.keys(d(n.properties)?n.properties:{}),...Object.keys(d(s)?s:{})]),a=Array.from(p,h=>T(dt(n,h),e,v(s,h),[...r,h],l.includes(h)));return{...o,control:"group",children:a}}if(n.type==="array"){const p=(Array.isArray(s)?s.slice(0,ht):[]).map((a,h)=>T(ft(n,h),e,a,[...r,String(h)],!0));return{...o,control:"list",children:p}}return n.type==="string"?{...o,control:"text"}:n.type==="integer"||n.type==="number"?{...o,control:"number"}:{...o,control:"any"}}function yt(t){return Object.hasOwn(t,"const")?[t.const]:Array.isArray(t.enum)?t.enum:t.type==="boolean"?[!0,!1]:t.type==="null"?[null]:null}function W(t,e,s){const[r,...i]=e;if(r===void 0)return s;const n=W(v(t,r),i,s);if(Array.isArray(t))return t.map((l,p)=>String(p)===r?n:l);const o=Object.entries(d(t)?t:{}),c=o.findIndex(([l])=>l===r);return o.splice(c<0?o.length:c,c<0?0:1,[r,n]),Object.fromEntries(o)}function z(t,e){let s=e;for(const[r,i]of t.entries()){if(Array.isArray(s))return t.slice(0,r);s=v(s,i)}return t}var gt=Object.defineProperty,bt=Object.getOwnPropertyDescriptor,O=(t,e,s,r)=>{for(var i=r>1?void 0:r?bt(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&gt(e,s,i),i};let b=class extends U{constructor(){super(...arguments),this.field=null,this.value=void 0,this.pinned=new Set,this.problems=[],this.certainty=new Map,this.readonly=!1}render(){return this.field===null?$:this.show(this.field)}show(t){if(t.control!=="group"&&t.control!=="list")return this.control(t);const e=m(t.path);return u`<fieldset class=${t.path.length===0?"root":""}>
      ${t.path.length===0?$:u`<legend>${t.name}</legend>`} ${this.wrong(e)}
      ${rt(t.children,s=>m(s.path),s=>this.show(s))}
      ${t.children.length===0?u`<p class="muted">Nothing here yet.</p>`:$}
    </fieldset>`}wrong(t){return this.problems.filter(e=>e.pointer===t).map(({message:e})=>u`<p class="error" id=${`problem${t}`}>${e}</p>`)}control(t){const e=m(t.path),s=`field${e}`,r=t.path.reduce(v,this.value),i=this.pinned.has(e),n=this.certainty.get(e),o=r===void 0?"":t.control==="any"||typeof r!="string"?JSON.stringify(r):r,c=p=>this.dispatchEvent(new CustomEvent("sf-value",{detail:{path:t.path,value:p},bubbles:!0,composed:!0})),l=t.control==="choice"?u`<select
            id=${s}
            class=${i?"pinned":""}
            ?disabled=${this.readonly}
            @change=${p=>{c(t.choices[p.target.selectedIndex-1])}}
          >
            <option .selected=${r===void 0}></option>
            ${t.choices.map(p=>u`<option .selected=${JSON.stringify(p)===JSON.stringify(r)}>
                  ${typeof p=="string"?p:JSON.stringify(p)}
                </option>`)}
          </select>`:u`<input
            id=${s}
            class=${i?"pinned":""}
            inputmode=${t.control==="number"?"decimal":"text"}
            autocomplete="off"
            ?readonly=${this.readonly}
            .value=${st(o)}
            @change=${p=>c($t(p.target.value,t.control))}
          />`;return u`<div class="field">
      <label class="name" for=${s}
        >${t.name}${t.isRequired?"":u` <span class="muted">optional</span>`}</label
      >
      <div class="line" style=${n===void 0?"":`--certainty: ${n.toFixed(2)}`}>
        ${l}
        <button
          class="pin"
          aria-pressed=${String(i)}
          aria-label=${`Pin ${t.name}`}
          title=${i?"Pinned; click to unpin":"Pin this value"}
          ?disabled=${this.readonly||r===void 0}
          @click=${()=>this.dispatchEvent(new CustomEvent("sf-pin",{detail:t.path,bubbles:!0,composed:!0}))}
        >
          ⚲
        </button>
      </div>
      ${t.description===""?$:u`<p class="muted">${t.description}</p>`}
      ${this.wrong(e)}
    </div>`}};b.styles=[B,K`
      fieldset {
        border: 1px solid var(--line);
        border-radius: 10px;
        display: grid;
        gap: 0.75rem;
        padding: 0.75rem;
        margin: 0;
        min-width: 0;
      }
      fieldset.root {
        border: 0;
        padding: 0;
      }
      legend {
        font-weight: 600;
        padding: 0 0.3rem;
      }
      .field {
        display: grid;
        gap: 0.2rem;
      }
      .line {
        display: flex;
        gap: 0.4rem;
      }
      .line > :is(input, select, textarea) {
        flex: 1;
        opacity: calc(0.35 + 0.65 * var(--certainty, 1));
        filter: blur(calc(1.2px * (1 - var(--certainty, 1))));
        transition: opacity calc(var(--motion) * 100ms);
      }
      .line > .pinned {
        border-color: var(--accent);
      }
      .name {
        font-size: 0.875rem;
      }
      .pin[aria-pressed="true"] {
        background: var(--accent);
        color: var(--on-accent);
      }
      p {
        margin: 0;
        font-size: 0.8rem;
      }
    `];O([w({attribute:!1})],b.prototype,"field",2);O([w({attribute:!1})],b.prototype,"value",2);O([w({attribute:!1})],b.prototype,"pinned",2);O([w({attribute:!1})],b.prototype,"problems",2);O([w({attribute:!1})],b.prototype,"certainty",2);O([w({type:Boolean})],b.prototype,"readonly",2);b=O([Y("sf-form")],b);function $t(t,e){if(t==="")return e==="text"?"":void 0;if(e==="text")return t;try{return JSON.parse(t)}catch{return t}}const _=64,xt=new Map;function C(t){return new vt(t).value(0)}function wt(t,e){return e.reduce((s,r)=>s?.children.get(r)??null,t)}class vt{constructor(e){this.text=e,this.at=0}value(e){this.skip(/[^\]}{[",\-\dtfn]*/y);const s=this.at,r=this.text[s];if(r===void 0||"]},".includes(r)||e>_)return null;if(r==="{")return this.object(s,e);if(r==="[")return this.array(s,e);if(r==='"'){const{text:c,isComplete:l}=this.string();return this.node(c,s,l)}const i=this.skip(/[-+\w.]+/y),n=["true","false","null"].includes(i)?JSON.parse(i):void 0,o=n===void 0&&/^-?\d/.test(i)?Ot(i):n;return this.node(o,s,o!==void 0&&this.at<this.text.length)}object(e,s){const r=new Map;for(this.at++;;){if(this.skip(/[^"}]*/y),this.at>=this.text.length)return this.node(H(r),e,!1,r);if(this.text[this.at]==="}")return this.at++,this.node(H(r),e,!0,r);const i=this.string();if(this.skip(/\s*/y),!i.isComplete||this.text[this.at]!==":")continue;this.at++;const n=this.value(s+1);n!==null?r.set(i.text,n):s>=_&&(this.at=this.text.length)}}array(e,s){const r=new Map,i=()=>Array.from(r.values(),({value:n})=>n);for(this.at++;;){if(this.skip(/[\s,]*/y),this.at>=this.text.length||this.text[this.at]==="}")return this.node(i(),e,!1,r);if(this.text[this.at]==="]")return this.at++,this.node(i(),e,!0,r);const n=this.value(s+1);n!==null?r.set(String(r.size),n):s>=_&&(this.at=this.text.length)}}string(){this.at++;const e=this.skip(/(?:[^"\\]|\\[^])*/y),s=this.text[this.at]==='"';return this.at=s?this.at+1:this.text.length,{text:At(e),isComplete:s}}node(e,s,r,i=xt){return{value:e,start:s,end:this.at,children:i,isComplete:r}}skip(e){e.lastIndex=this.at;const[s]=e.exec(this.text)??[""];return this.at+=s.length,s}}function Ot(t){const[e]=/^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/.exec(t)??[""],s=Number(e);return e===""||!Number.isFinite(s)?void 0:s}function H(t){return Object.fromEntries(Array.from(t,([e,{value:s}])=>[e,s]))}function At(t){try{return JSON.parse(`"${t}"`)}catch{return t.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/,"").replaceAll(/\\(.)/g,"$1")}}function I(t){return Array.isArray(t)?`[${t.map(I).join(", ")}]`:typeof t=="object"&&t!==null?`{${Object.entries(t).map(([s,r])=>`${JSON.stringify(s)}: ${I(r)}`).join(", ")}}`:JSON.stringify(t??null)}function St(t,e){const s=C(t);return e.flatMap(r=>{const i=wt(s,r);return i===null?[]:[[i.start,i.end]]})}function jt(t,e){const s=new Map,r=[];let i=0;for(const c of t.tokens)r.push({start:i,end:i+c.text.length,confidence:c.confidence??1}),i+=c.text.length;const n=(c,l)=>{if(c.children.size===0){const p=r.filter(({start:a,end:h})=>a<c.end&&h>c.start);s.set(m(l),Math.min(1,...p.map(({confidence:a})=>a)))}for(const[p,a]of c.children)n(a,[...l,p])},o=C(e);return o!==null&&n(o,[]),s}const kt=32,Et=100;function Mt(t,e){return M(t,t,e,[],0).slice(0,Et)}function M(t,e,s,r,i){const n=a=>[{pointer:m(r),message:a}];if(t===!1)return n("nothing may stand here");if(t===!0||i>kt)return[];const o=V(t,e),c=a=>M(a,e,s,r,i+1),l=J(o.allOf).flatMap(c);Object.hasOwn(o,"const")&&!N(o.const,s)&&l.push(...n(`must be ${JSON.stringify(o.const)}`)),Array.isArray(o.enum)&&!o.enum.some(a=>N(a,s))&&l.push(...n(`must be one of ${o.enum.slice(0,10).map(a=>JSON.stringify(a)).join(", ")}`));const p=Array.isArray(o.type)?o.type:o.type===void 0?[]:[o.type];if(p.length>0&&!p.some(a=>_t(s,a)))return[...l,...n(s===void 0?"is missing":`must be ${p.join(" or ")}`)];Array.isArray(o.anyOf)&&!o.anyOf.some(a=>c(a).length===0)&&l.push(...n("fits none of what is allowed")),Array.isArray(o.oneOf)&&o.oneOf.filter(a=>c(a).length===0).length!==1&&l.push(...n("must fit exactly one of what is allowed"));for(const[a,h,A]of Nt){const S=o[a];typeof S=="number"&&h(s,S)===!1&&l.push(...n(`${A} ${S}`))}if(d(s)){for(const a of J(o.required))typeof a=="string"&&!Object.hasOwn(s,a)&&l.push({pointer:m([...r,a]),message:"is missing"});for(const a of Object.keys(s)){const h=v(o.properties,a),A=d(o.patternProperties),S=h??(A?!0:o.additionalProperties)??!0;l.push(...M(S,e,s[a],[...r,a],i+1))}}if(Array.isArray(s)){const a=J(o.prefixItems);s.forEach((h,A)=>l.push(...M(a[A]??o.items??!0,e,h,[...r,String(A)],i+1)))}return l}const Nt=[["minimum",(t,e)=>typeof t=="number"?t>=e:void 0,"must be at least"],["maximum",(t,e)=>typeof t=="number"?t<=e:void 0,"must be at most"],["exclusiveMinimum",(t,e)=>typeof t=="number"?t>e:void 0,"must be more than"],["exclusiveMaximum",(t,e)=>typeof t=="number"?t<e:void 0,"must be less than"],["multipleOf",(t,e)=>typeof t=="number"?Pt(t,e):void 0,"must be a multiple of"],["minLength",(t,e)=>typeof t=="string"?Array.from(t).length>=e:void 0,"has fewer characters than"],["maxLength",(t,e)=>typeof t=="string"?Array.from(t).length<=e:void 0,"has more characters than"],["minItems",(t,e)=>Array.isArray(t)?t.length>=e:void 0,"has fewer items than"],["maxItems",(t,e)=>Array.isArray(t)?t.length<=e:void 0,"has more items than"]];function Pt(t,e){const s=t/e;return Math.abs(s-Math.round(s))<1e-9*Math.max(1,Math.abs(s))}function J(t){return Array.isArray(t)?t:[]}function _t(t,e){switch(e){case"integer":return Number.isInteger(t);case"number":case"string":case"boolean":return typeof t===e;case"null":return t===null;case"array":return Array.isArray(t);case"object":return d(t);default:return!0}}function N(t,e){if(Array.isArray(t)&&Array.isArray(e))return t.length===e.length&&t.every((s,r)=>N(s,e[r]));if(d(t)&&d(e)){const s=Object.keys(t);return s.length===Object.keys(e).length&&s.every(r=>Object.hasOwn(e,r)&&N(t[r],e[r]))}return t===e}const g={type:"string",maxLength:24},j={type:"integer",minimum:0,maximum:9999};function k(t){return{type:"object",properties:t,required:Object.keys(t),additionalProperties:!1}}const E=[{name:"a pet",text:"Our 8-year-old parrot Mia is red.",schema:k({name:g,animal:{enum:["cat","dog","horse","rabbit","parrot","goat"]},color:{enum:["red","blue","green","black","white","brown","yellow"]},age:j})},{name:"a person",text:"In Oslo lives Anna Berg, a 34-year-old nurse.",schema:k({name:g,age:j,job:g,city:g})},{name:"a thing",text:"A red lamp for 40 euros, in stock.",schema:k({item:g,color:g,price:j,in_stock:{type:"boolean"}})},{name:"an event",text:"Concert in Rome on Friday at 19.",schema:k({event:g,city:g,day:g,hour:j})}];var Jt=Object.defineProperty,Tt=Object.getOwnPropertyDescriptor,y=(t,e,s,r)=>{for(var i=r>1?void 0:r?Tt(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&Jt(e,s,i),i};const It={value:void 0,pins:[]};let f=class extends U{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.text=E[0]?.text??"",this.schema=null,this.schemaError="",this.steps=R(),this.draft=null,this.figures="",this.stopping=new AbortController,this.asked=0}firstUpdated(){this.editor=G({parent:this.mount,root:this.renderRoot,label:"JSON Schema",text:"",extensions:[Q()]}),this.editor.dom.addEventListener("focusout",()=>this.readSchema()),this.take(E[0]);const t=Z("structure.asked",null);typeof t?.text=="string"&&typeof t.schema=="string"&&this.put(t.text,t.schema),this.begin().catch(F)}disconnectedCallback(){super.disconnectedCallback(),this.stopping.abort(),this.editor.destroy()}async begin(){const t=await q.models();this.cards=t.filter(({capabilities:e,sfumato:{kinds:s,tasks:r}})=>e.includes("canvas")&&e.includes("structured_output")&&(s.length===0||r.includes("json"))),this.model=this.cards[0]?.id??""}take(t){t!==void 0&&this.put(t.text,JSON.stringify(t.schema,null,2))}put(t,e){this.stopping.abort(),this.text=t,this.editor.dispatch({changes:{from:0,to:this.editor.state.doc.length,insert:e}}),this.steps=R(),this.figures="",this.readSchema()}readSchema(){try{const t=JSON.parse(this.editor.state.doc.toString());if(!d(t))throw new Error('a schema is an object, such as {"type": "object"}');return[this.schema,this.schemaError]=[t,""],!0}catch(t){return this.schemaError=t instanceof Error?t.message:String(t),!1}}get step(){return nt(this.steps)??It}get prompt(){return this.cards?.find(({id:e})=>e===this.model)?.sfumato.tasks.includes("json")?`json: ${this.text}`:`${this.text}

The same as JSON:`}async fill(){if(!this.readSchema()||this.schema===null||this.draft!==null)return;tt("structure.asked",{text:this.text,schema:this.editor.state.doc.toString()});const{value:t,pins:e}=this.step;this.stopping=new AbortController,this.draft={value:t,certainty:new Map};const s=this.asked++;let r={model:this.model,prompt:this.prompt,schema:this.schema,seed:s};if(t!==void 0&&e.length>0){const i=I(t);r=ot(r,i,St(i,e),s)}try{for await(const i of at(q,ct(s),r,this.stopping.signal)){const n=lt(i),o=it(n);if(i.status==="failed")throw new Error(i.error??"");if(this.draft={value:C(o)?.value,certainty:jt(n,o)},i.status!=="done")continue;const c=JSON.parse(o);this.steps=P(this.steps,{value:c,pins:e});const l=n.ending.usage;l!==void 0&&(this.figures=`${l.denoising_steps} steps · ${(1e3*l.total_s).toFixed(0)} ms`),D("Filled.")}}catch(i){this.stopping.signal.aborted||F(i)}finally{this.draft=null}}write({path:t,value:e}){const{pins:s}=this.step,r=W(this.step.value,t,e),i=z(t,r),n=s.some(o=>m(o)===m(i));this.steps=P(this.steps,{value:r,pins:n?s:[...s,i]}),D("Pinned. Fill again to update the rest.")}pin(t){const{value:e,pins:s}=this.step,r=z(t,e),i=s.filter(n=>m(n)!==m(r));this.steps=P(this.steps,{value:e,pins:i.length===s.length?[...s,r]:i})}async copy(){try{await navigator.clipboard.writeText(JSON.stringify(this.step.value,null,2)),L("JSON copied.")}catch{L("The browser blocks copying; select the text below and copy it yourself.")}}render(){return u`<div class="page">
      <h1>Structure</h1>
      <p class="muted intro">
        A model reads the text and fills in the form that the schema describes. Pin what is right and fill
        again.
      </p>
      ${this.cards?.length===0?u`<p class="muted">
              No model on this server fills a schema on a canvas; start it with one: sfumato serve tiny
            </p>`:$}
      <div class="sides">
        <section class="side" aria-label="What is asked">
          <div class="row">
            <label
              >Examples
              <select
                @change=${t=>this.take(E[t.target.selectedIndex])}
              >
                ${E.map(({name:t})=>u`<option>${t}</option>`)}
              </select></label
            >
            <label
              >Model
              <select @change=${t=>this.model=t.target.value}>
                ${(this.cards??[]).map(({id:t})=>u`<option value=${t} .selected=${t===this.model}>${t}</option>`)}
              </select></label
            >
          </div>
          <label
            >Text
            <textarea
              rows="3"
              .value=${this.text}
              @input=${t=>this.text=t.target.value}
            ></textarea>
          </label>
          <div class="schema"></div>
          ${this.schemaError===""?$:u`<p class="error">The schema: ${this.schemaError}</p>`}
        </section>
        ${this.filled()}
      </div>
    </div>`}filled(){const{schema:t}=this,{value:e,pins:s}=this.step,r=this.draft===null?e:this.draft.value,{all:i,at:n}=this.steps,o=e===void 0;return u`<section class="side" aria-label="The form">
      <div class="row">
        ${this.draft===null?u`<button
                class="primary"
                ?disabled=${t===null||this.model===""}
                @click=${()=>this.fill()}
              >
                ${s.length>0?"Fill the rest again":o?"Fill":"Fill again"}
              </button>`:u`<button @click=${()=>this.stopping.abort()}>Stop</button>`}
        <button ?disabled=${n<1} @click=${()=>this.steps=X(this.steps,-1)}>Undo</button>
        <button ?disabled=${n>=i.length-1} @click=${()=>this.steps=X(this.steps,1)}>
          Redo
        </button>
        <button ?disabled=${o} @click=${()=>this.copy()}>Copy JSON</button>
        <span class="figures">${this.figures}</span>
      </div>
      ${t===null?$:u`<sf-form
              class="card"
              .field=${mt(t,r)}
              .value=${r}
              .pinned=${new Set(s.map(m))}
              .certainty=${this.draft?.certainty??new Map}
              .problems=${o||this.draft!==null?[]:Mt(t,e)}
              ?readonly=${this.draft!==null}
              @sf-value=${({detail:c})=>this.write(c)}
              @sf-pin=${({detail:c})=>this.pin(c)}
            ></sf-form>`}
      ${o?$:u`<details>
              <summary>JSON</summary>
              <pre>${JSON.stringify(e,null,2)}</pre>
            </details>`}
    </section>`}};f.styles=[B,K`
      .page {
        display: grid;
        gap: 0.9rem;
        grid-template-columns: minmax(0, 1fr);
      }
      .sides {
        display: grid;
        gap: 1rem;
        grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr));
        align-items: start;
      }
      .side {
        display: grid;
        gap: 0.75rem;
        min-width: 0;
      }
      .row {
        align-items: end;
      }
      .row > label {
        flex: 1 1 8rem;
      }
      textarea {
        width: 100%;
        resize: vertical;
      }
      .schema .cm-editor {
        max-height: 28rem;
      }
      p {
        margin: 0;
      }
    `];y([w()],f.prototype,"place",2);y([x()],f.prototype,"cards",2);y([x()],f.prototype,"model",2);y([x()],f.prototype,"text",2);y([x()],f.prototype,"schema",2);y([x()],f.prototype,"schemaError",2);y([x()],f.prototype,"steps",2);y([x()],f.prototype,"draft",2);y([x()],f.prototype,"figures",2);y([et(".schema")],f.prototype,"mount",2);f=y([Y("sf-structure-page")],f);export{f as StructurePage};
