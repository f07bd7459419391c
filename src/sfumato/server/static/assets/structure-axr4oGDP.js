import{l as Y,w as W,d as G}from"./code-0VB7YPsG.js";import{e as X,i as H,p as w,g as B,A as b,d as h,z as K,v as Q,u as Z,c as tt,b as P,w as D,s as x,f as et}from"./index-02VlwGGE.js";import{l as st}from"./live-BM7yGBTv.js";import{c as rt}from"./repeat-C2ZTttpn.js";import{M as it}from"./models-DkLnH7Tq.js";import{t as nt}from"./canvas-BqwZnn-S.js";import{a as ot}from"./files-CTAAkA73.js";import{n as R,c as at,p as _,g as q}from"./steps-mb0g5HZU.js";import{a as ct,g as lt,n as pt,l as ht,e as ut}from"./take-D0BNUl8t.js";import"./offsets-EgNy2a1f.js";import"./directive-helpers-B_rerXEN.js";const dt=8,mt=3,ft=200;function f(t){return t.map(e=>`/${e.replaceAll("~","~0").replaceAll("/","~1")}`).join("")}function d(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}function v(t,e){return Array.isArray(t)?/^\d+$/.test(e)?t[Number(e)]:void 0:d(t)&&Object.hasOwn(t,e)?t[e]:void 0}function U(t,e){const s=new Set;for(;d(t)&&typeof t.$ref=="string"&&!s.has(t);)s.add(t),t=t.$ref.split("/").slice(1).map(i=>i.replaceAll("~1","/").replaceAll("~0","~")).reduce(v,e);return d(t)&&typeof t.$ref!="string"?t:{}}function yt(t,e){return v(t.properties,e)??(d(t.additionalProperties)?t.additionalProperties:{})}function gt(t,e){return(Array.isArray(t.prefixItems)?t.prefixItems[e]:void 0)??t.items??{}}function bt(t,e){return I(t,t,e,[],!0)}function I(t,e,s,r,i){const n=U(t,e),o={path:r,name:typeof n.title=="string"?n.title:r.at(-1)??"The answer",description:typeof n.description=="string"?n.description:"",isRequired:i,choices:[],children:[]},l=$t(n);if(l!==null)return{...o,control:"choice",choices:l};if(r.length>=(s===void 0?mt:dt))return{...o,control:"any"};if(n.type==="object"||d(n.properties)){const c=Array.isArray(n.required)?n.required:[],p=new Set([...Object.keys(d(n.properties)?n.properties:{}),...Object.keys(d(s)?s:{})]),a=Array.from(p,u=>I(yt(n,u),e,v(s,u),[...r,u],c.includes(u)));return{...o,control:"group",children:a}}if(n.type==="array"){const p=(Array.isArray(s)?s.slice(0,ft):[]).map((a,u)=>I(gt(n,u),e,a,[...r,String(u)],!0));return{...o,control:"list",children:p}}return n.type==="string"?{...o,control:"text"}:n.type==="integer"||n.type==="number"?{...o,control:"number"}:{...o,control:"any"}}function $t(t){return Object.hasOwn(t,"const")?[t.const]:Array.isArray(t.enum)?t.enum:t.type==="boolean"?[!0,!1]:t.type==="null"?[null]:null}function V(t,e,s){const[r,...i]=e;if(r===void 0)return s;const n=V(v(t,r),i,s);if(Array.isArray(t))return t.map((c,p)=>String(p)===r?n:c);const o=Object.entries(d(t)?t:{}),l=o.findIndex(([c])=>c===r);return o.splice(l<0?o.length:l,l<0?0:1,[r,n]),Object.fromEntries(o)}function L(t,e){let s=e;for(const[r,i]of t.entries()){if(Array.isArray(s))return t.slice(0,r);s=v(s,i)}return t}var xt=Object.defineProperty,wt=Object.getOwnPropertyDescriptor,O=(t,e,s,r)=>{for(var i=r>1?void 0:r?wt(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&xt(e,s,i),i};let $=class extends B{constructor(){super(...arguments),this.field=null,this.value=void 0,this.pinned=new Set,this.problems=[],this.certainty=new Map,this.readonly=!1}render(){return this.field===null?b:this.show(this.field)}show(t){if(t.control!=="group"&&t.control!=="list")return this.control(t);const e=f(t.path);return h`<fieldset class=${t.path.length===0?"root":""}>
      ${t.path.length===0?b:h`<legend>${t.name}</legend>`} ${this.wrong(e)}
      ${rt(t.children,s=>f(s.path),s=>this.show(s))}
      ${t.children.length===0?h`<p class="muted">Nothing here yet.</p>`:b}
    </fieldset>`}wrong(t){return this.problems.filter(e=>e.pointer===t).map(({message:e})=>h`<p class="error" id=${`problem${t}`}>${e}</p>`)}control(t){const e=f(t.path),s=`field${e}`,r=t.path.reduce(v,this.value),i=this.pinned.has(e),n=this.certainty.get(e),o=r===void 0?"":t.control==="any"||typeof r!="string"?JSON.stringify(r):r,l=p=>this.dispatchEvent(new CustomEvent("sf-value",{detail:{path:t.path,value:p},bubbles:!0,composed:!0})),c=t.control==="choice"?h`<select
            id=${s}
            class=${i?"pinned":""}
            ?disabled=${this.readonly}
            @change=${p=>{l(t.choices[p.target.selectedIndex-1])}}
          >
            <option .selected=${r===void 0}></option>
            ${t.choices.map(p=>h`<option .selected=${JSON.stringify(p)===JSON.stringify(r)}>
                  ${typeof p=="string"?p:JSON.stringify(p)}
                </option>`)}
          </select>`:h`<input
            id=${s}
            class=${i?"pinned":""}
            inputmode=${t.control==="number"?"decimal":"text"}
            autocomplete="off"
            ?readonly=${this.readonly}
            .value=${st(o)}
            @change=${p=>l(vt(p.target.value,t.control))}
          />`;return h`<div class="field">
      <label class="name" for=${s}
        >${t.name}${t.isRequired?"":h` <span class="muted">optional</span>`}</label
      >
      <div class="line" style=${n===void 0?"":`--certainty: ${n.toFixed(2)}`}>
        ${c}
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
      ${t.description===""?b:h`<p class="muted">${t.description}</p>`}
      ${this.wrong(e)}
    </div>`}};$.styles=[X,H`
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
    `];O([w({attribute:!1})],$.prototype,"field",2);O([w({attribute:!1})],$.prototype,"value",2);O([w({attribute:!1})],$.prototype,"pinned",2);O([w({attribute:!1})],$.prototype,"problems",2);O([w({attribute:!1})],$.prototype,"certainty",2);O([w({type:Boolean})],$.prototype,"readonly",2);$=O([K("sf-form")],$);function vt(t,e){if(t==="")return e==="text"?"":void 0;if(e==="text")return t;try{return JSON.parse(t)}catch{return t}}const T=64,Ot=new Map;function F(t){return new St(t).value(0)}function At(t,e){return e.reduce((s,r)=>s?.children.get(r)??null,t)}class St{constructor(e){this.text=e,this.at=0}value(e){this.skip(/[^\]}{[",\-\dtfn]*/y);const s=this.at,r=this.text[s];if(r===void 0||"]},".includes(r)||e>T)return null;if(r==="{")return this.object(s,e);if(r==="[")return this.array(s,e);if(r==='"'){const{text:l,isComplete:c}=this.string();return this.node(l,s,c)}const i=this.skip(/[-+\w.]+/y),n=["true","false","null"].includes(i)?JSON.parse(i):void 0,o=n===void 0&&/^-?\d/.test(i)?jt(i):n;return this.node(o,s,o!==void 0&&this.at<this.text.length)}object(e,s){const r=new Map;for(this.at++;;){if(this.skip(/[^"}]*/y),this.at>=this.text.length)return this.node(z(r),e,!1,r);if(this.text[this.at]==="}")return this.at++,this.node(z(r),e,!0,r);const i=this.string();if(this.skip(/\s*/y),!i.isComplete||this.text[this.at]!==":")continue;this.at++;const n=this.value(s+1);n!==null?r.set(i.text,n):s>=T&&(this.at=this.text.length)}}array(e,s){const r=new Map,i=()=>Array.from(r.values(),({value:n})=>n);for(this.at++;;){if(this.skip(/[\s,]*/y),this.at>=this.text.length||this.text[this.at]==="}")return this.node(i(),e,!1,r);if(this.text[this.at]==="]")return this.at++,this.node(i(),e,!0,r);const n=this.value(s+1);n!==null?r.set(String(r.size),n):s>=T&&(this.at=this.text.length)}}string(){this.at++;const e=this.skip(/(?:[^"\\]|\\[^])*/y),s=this.text[this.at]==='"';return this.at=s?this.at+1:this.text.length,{text:Et(e),isComplete:s}}node(e,s,r,i=Ot){return{value:e,start:s,end:this.at,children:i,isComplete:r}}skip(e){e.lastIndex=this.at;const[s]=e.exec(this.text)??[""];return this.at+=s.length,s}}function jt(t){const[e]=/^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/.exec(t)??[""],s=Number(e);return e===""||!Number.isFinite(s)?void 0:s}function z(t){return Object.fromEntries(Array.from(t,([e,{value:s}])=>[e,s]))}function Et(t){try{return JSON.parse(`"${t}"`)}catch{return t.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/,"").replaceAll(/\\(.)/g,"$1")}}function C(t){return Array.isArray(t)?`[${t.map(C).join(", ")}]`:typeof t=="object"&&t!==null?`{${Object.entries(t).map(([s,r])=>`${JSON.stringify(s)}: ${C(r)}`).join(", ")}}`:JSON.stringify(t??null)}function kt(t,e){const s=F(t);return e.flatMap(r=>{const i=At(s,r);return i===null?[]:[[i.start,i.end]]})}function Mt(t,e){const s=new Map,r=[];let i=0;for(const l of t.tokens)r.push({start:i,end:i+l.text.length,confidence:l.confidence??1}),i+=l.text.length;const n=(l,c)=>{if(l.children.size===0){const p=r.filter(({start:a,end:u})=>a<l.end&&u>l.start);s.set(f(c),Math.min(1,...p.map(({confidence:a})=>a)))}for(const[p,a]of l.children)n(a,[...c,p])},o=F(e);return o!==null&&n(o,[]),s}const Nt=32,Pt=100;function _t(t,e){return M(t,t,e,[],0).slice(0,Pt)}function M(t,e,s,r,i){const n=a=>[{pointer:f(r),message:a}];if(t===!1)return n("nothing may stand here");if(t===!0||i>Nt)return[];const o=U(t,e),l=a=>M(a,e,s,r,i+1),c=J(o.allOf).flatMap(l);Object.hasOwn(o,"const")&&!N(o.const,s)&&c.push(...n(`must be ${JSON.stringify(o.const)}`)),Array.isArray(o.enum)&&!o.enum.some(a=>N(a,s))&&c.push(...n(`must be one of ${o.enum.slice(0,10).map(a=>JSON.stringify(a)).join(", ")}`));const p=Array.isArray(o.type)?o.type:o.type===void 0?[]:[o.type];if(p.length>0&&!p.some(a=>It(s,a)))return[...c,...n(s===void 0?"is missing":`must be ${p.join(" or ")}`)];Array.isArray(o.anyOf)&&!o.anyOf.some(a=>l(a).length===0)&&c.push(...n("fits none of what is allowed")),Array.isArray(o.oneOf)&&o.oneOf.filter(a=>l(a).length===0).length!==1&&c.push(...n("must fit exactly one of what is allowed"));for(const[a,u,A]of Tt){const S=o[a];typeof S=="number"&&u(s,S)===!1&&c.push(...n(`${A} ${S}`))}if(d(s)){for(const a of J(o.required))typeof a=="string"&&!Object.hasOwn(s,a)&&c.push({pointer:f([...r,a]),message:"is missing"});for(const a of Object.keys(s)){const u=v(o.properties,a),A=d(o.patternProperties),S=u??(A?!0:o.additionalProperties)??!0;c.push(...M(S,e,s[a],[...r,a],i+1))}}if(Array.isArray(s)){const a=J(o.prefixItems);s.forEach((u,A)=>c.push(...M(a[A]??o.items??!0,e,u,[...r,String(A)],i+1)))}return c}const Tt=[["minimum",(t,e)=>typeof t=="number"?t>=e:void 0,"must be at least"],["maximum",(t,e)=>typeof t=="number"?t<=e:void 0,"must be at most"],["exclusiveMinimum",(t,e)=>typeof t=="number"?t>e:void 0,"must be more than"],["exclusiveMaximum",(t,e)=>typeof t=="number"?t<e:void 0,"must be less than"],["multipleOf",(t,e)=>typeof t=="number"?Jt(t,e):void 0,"must be a multiple of"],["minLength",(t,e)=>typeof t=="string"?Array.from(t).length>=e:void 0,"has fewer characters than"],["maxLength",(t,e)=>typeof t=="string"?Array.from(t).length<=e:void 0,"has more characters than"],["minItems",(t,e)=>Array.isArray(t)?t.length>=e:void 0,"has fewer items than"],["maxItems",(t,e)=>Array.isArray(t)?t.length<=e:void 0,"has more items than"]];function Jt(t,e){const s=t/e;return Math.abs(s-Math.round(s))<1e-9*Math.max(1,Math.abs(s))}function J(t){return Array.isArray(t)?t:[]}function It(t,e){switch(e){case"integer":return Number.isInteger(t);case"number":case"string":case"boolean":return typeof t===e;case"null":return t===null;case"array":return Array.isArray(t);case"object":return d(t);default:return!0}}function N(t,e){if(Array.isArray(t)&&Array.isArray(e))return t.length===e.length&&t.every((s,r)=>N(s,e[r]));if(d(t)&&d(e)){const s=Object.keys(t);return s.length===Object.keys(e).length&&s.every(r=>Object.hasOwn(e,r)&&N(t[r],e[r]))}return t===e}const g={type:"string",maxLength:24},j={type:"integer",minimum:0,maximum:9999};function E(t){return{type:"object",properties:t,required:Object.keys(t),additionalProperties:!1}}const k=[{name:"a pet",text:"Our 8-year-old parrot Mia is red.",schema:E({name:g,animal:{enum:["cat","dog","horse","rabbit","parrot","goat"]},color:{enum:["red","blue","green","black","white","brown","yellow"]},age:j})},{name:"a person",text:"In Oslo lives Anna Berg, a 34-year-old nurse.",schema:E({name:g,age:j,job:g,city:g})},{name:"a thing",text:"A red lamp for 40 euros, in stock.",schema:E({item:g,color:g,price:j,in_stock:{type:"boolean"}})},{name:"an event",text:"Concert in Rome on Friday at 19.",schema:E({event:g,city:g,day:g,hour:j})}];var Ct=Object.defineProperty,Ft=Object.getOwnPropertyDescriptor,y=(t,e,s,r)=>{for(var i=r>1?void 0:r?Ft(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&Ct(e,s,i),i};const Dt={value:void 0,pins:[]},Rt=300;let m=class extends B{constructor(){super(...arguments),this.place="",this.model="",this.text=k[0]?.text??"",this.schema=null,this.schemaError="",this.steps=R(),this.draft=null,this.figures="",this.problem="",this.stopping=new AbortController,this.asked=0,this.reading=0,this.models=new it(this,({capabilities:t,sfumato:{kinds:e,tasks:s}})=>t.includes("canvas")&&t.includes("structured_output")&&(e.length===0||s.includes("json")),t=>this.model=t[0]?.id??"")}firstUpdated(){this.editor=Y({parent:this.mount,root:this.renderRoot,label:"JSON Schema",text:"",extensions:[W(),G.updateListener.of(({docChanged:e})=>{e&&(clearTimeout(this.reading),this.reading=window.setTimeout(()=>this.readSchema(),Rt))})]}),this.take(k[0]);const t=Q("structure.asked",null);typeof t?.text=="string"&&typeof t.schema=="string"&&this.put(t.text,t.schema)}disconnectedCallback(){super.disconnectedCallback(),this.stopping.abort(),clearTimeout(this.reading),this.editor.destroy()}take(t){t!==void 0&&this.put(t.text,JSON.stringify(t.schema,null,2))}put(t,e){this.stopping.abort(),this.text=t,this.editor.dispatch({changes:{from:0,to:this.editor.state.doc.length,insert:e}}),this.steps=R(),[this.figures,this.problem]=["",""],this.readSchema()}readSchema(){clearTimeout(this.reading);try{const t=JSON.parse(this.editor.state.doc.toString());if(!d(t))throw new Error('a schema is an object, such as {"type": "object"}');return[this.schema,this.schemaError]=[t,""],!0}catch(t){return this.schemaError=t instanceof Error?t.message:String(t),!1}}get step(){return at(this.steps)??Dt}get prompt(){return this.models.find(this.model)?.sfumato.tasks.includes("json")?`json: ${this.text}`:`${this.text}

The same as JSON:`}async fill(){if(!this.readSchema()||this.schema===null||this.draft!==null)return;Z("structure.asked",{text:this.text,schema:this.editor.state.doc.toString()});const{value:t,pins:e}=this.step;this.stopping=new AbortController,[this.draft,this.problem]=[{value:t,certainty:new Map},""];const s=this.asked++;let r={model:this.model,prompt:this.prompt,schema:this.schema,seed:s};if(t!==void 0&&e.length>0){const i=C(t);r=ct(r,i,kt(i,e),s)}try{for await(const i of lt(tt,pt(s),r,this.stopping.signal)){const n=ht(i),o=nt(n);if(i.status==="failed")throw new Error(i.error??"");if(this.draft={value:F(o)?.value,certainty:Mt(n,o)},i.status!=="done")continue;const l=JSON.parse(o);this.steps=_(this.steps,{value:l,pins:e});const c=n.ending.usage;c!==void 0&&(this.figures=`${ut(c.denoising_steps)} · ${(1e3*c.total_s).toFixed(0)} ms`),P("Filled.")}}catch(i){if(this.stopping.signal.aborted)return;this.problem=ot(i),P(this.problem)}finally{this.draft=null}}write({path:t,value:e}){const{pins:s}=this.step,r=V(this.step.value,t,e),i=L(t,r),n=s.some(o=>f(o)===f(i));this.steps=_(this.steps,{value:r,pins:n?s:[...s,i]}),P("Pinned. Fill again to update the rest.")}pin(t){const{value:e,pins:s}=this.step,r=L(t,e),i=s.filter(n=>f(n)!==f(r));this.steps=_(this.steps,{value:e,pins:i.length===s.length?[...s,r]:i})}async copy(){try{await navigator.clipboard.writeText(JSON.stringify(this.step.value,null,2)),D("JSON copied.")}catch{D("The browser blocks copying; select the text below and copy it yourself.")}}render(){return h`<div class="page">
      <h1>Structure</h1>
      <p class="muted intro">
        A model reads the text and fills in the form that the schema describes. Pin what is right and fill
        again.
      </p>
      ${this.models.notice("No model on this server fills a schema on a canvas; start it with one: sfumato serve tiny")}
      <div class="sides">
        <section class="side" aria-label="What is asked">
          <div class="row">
            <label
              >Examples
              <select
                @change=${t=>this.take(k[t.target.selectedIndex])}
              >
                ${k.map(({name:t})=>h`<option>${t}</option>`)}
              </select></label
            >
            <label
              >Model
              <select @change=${t=>this.model=t.target.value}>
                ${(this.models.cards??[]).map(({id:t})=>h`<option value=${t} .selected=${t===this.model}>${t}</option>`)}
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
          ${this.schemaError===""?b:h`<p class="error">The schema: ${this.schemaError}.</p>`}
        </section>
        ${this.filled()}
      </div>
    </div>`}filled(){const{schema:t}=this,{value:e,pins:s}=this.step,r=this.draft===null?e:this.draft.value,{all:i,at:n}=this.steps,o=e===void 0,l=this.schemaError!=="";return h`<section class="side" aria-label="The form">
      <div class="row bar">
        ${this.draft===null?h`<button
                class="primary"
                ?disabled=${t===null||l||this.model===""||this.text.trim()===""}
                @click=${()=>this.fill()}
              >
                ${s.length>0?"Fill the rest again":o?"Fill":"Fill again"}
              </button>`:h`<button @click=${()=>this.stopping.abort()}>Stop</button>`}
        <button ?disabled=${n<1} @click=${()=>this.steps=q(this.steps,-1)}>Undo</button>
        <button ?disabled=${n>=i.length-1} @click=${()=>this.steps=q(this.steps,1)}>
          Redo
        </button>
        <button ?disabled=${o} @click=${()=>this.copy()}>Copy JSON</button>
        <span class="figures">${this.figures}</span>
      </div>
      ${this.problem===""?b:h`<p class="error">${this.problem}</p>`}
      ${l&&t!==null?h`<p class="muted">Outdated: this is the form of the schema before its error.</p>`:b}
      ${t===null?b:h`<sf-form
              class="card ${l?"outdated":""}"
              .field=${bt(t,r)}
              .value=${r}
              .pinned=${new Set(s.map(f))}
              .certainty=${this.draft?.certainty??new Map}
              .problems=${o||this.draft!==null?[]:_t(t,e)}
              ?readonly=${this.draft!==null||l}
              @sf-value=${({detail:c})=>this.write(c)}
              @sf-pin=${({detail:c})=>this.pin(c)}
            ></sf-form>`}
      ${o?b:h`<details>
              <summary>JSON</summary>
              <pre>${JSON.stringify(e,null,2)}</pre>
            </details>`}
    </section>`}};m.styles=[X,H`
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
      /* Level with the selects of the other side. */
      .bar {
        min-height: 3.75rem;
      }
      .bar .figures {
        line-height: 2.425rem;
      }
      .outdated {
        opacity: 0.55;
        border-style: dashed;
      }
    `];y([w()],m.prototype,"place",2);y([x()],m.prototype,"model",2);y([x()],m.prototype,"text",2);y([x()],m.prototype,"schema",2);y([x()],m.prototype,"schemaError",2);y([x()],m.prototype,"steps",2);y([x()],m.prototype,"draft",2);y([x()],m.prototype,"figures",2);y([x()],m.prototype,"problem",2);y([et(".schema")],m.prototype,"mount",2);m=y([K("sf-structure-page")],m);export{m as StructurePage};
