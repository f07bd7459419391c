import{k as U,y as V,d as Y}from"./code-xU0NJPOT.js";import{e as z,i as K,o as x,g as X,A as y,d as u,C as H,v as Z,u as G,c as Q,b as k,z as tt,F as et,x as D,r as w,f as st}from"./index-Dj6nRN8O.js";import{l as rt}from"./live-Cm7nnlsb.js";import{c as it}from"./repeat-CDT6essp.js";import{M as nt}from"./models-z3ScLAE6.js";import{s as ot}from"./start-stop-xo9MCae9.js";import{t as at}from"./canvas-BqwZnn-S.js";import{b as lt}from"./keys-DbHZ91uv.js";import{n as L,c as ct,p as _,g as pt}from"./steps-Bb5mR1ze.js";import{a as ht,g as ut,n as dt,l as mt,i as ft}from"./take-R79uc_On.js";import"./offsets-EgNy2a1f.js";const yt=8,gt=3,bt=200;function m(t){return t.map(e=>`/${e.replaceAll("~","~0").replaceAll("/","~1")}`).join("")}function d(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}function O(t,e){return Array.isArray(t)?/^\d+$/.test(e)?t[Number(e)]:void 0:d(t)&&Object.hasOwn(t,e)?t[e]:void 0}function B(t,e){const s=new Set;for(;d(t)&&typeof t.$ref=="string"&&!s.has(t);)s.add(t),t=t.$ref.split("/").slice(1).map(i=>i.replaceAll("~1","/").replaceAll("~0","~")).reduce(O,e);return d(t)&&typeof t.$ref!="string"?t:{}}function $t(t,e){return O(t.properties,e)??(d(t.additionalProperties)?t.additionalProperties:{})}function vt(t,e){return(Array.isArray(t.prefixItems)?t.prefixItems[e]:void 0)??t.items??{}}function xt(t,e){return C(t,t,e,[],!0)}function C(t,e,s,r,i){const n=B(t,e),o={path:r,name:typeof n.title=="string"?n.title:r.at(-1)??"The answer",description:typeof n.description=="string"?n.description:"",isRequired:i,choices:[],children:[]},p=wt(n);if(p!==null)return{...o,control:"choice",choices:p};if(r.length>=(s===void 0?gt:yt))return{...o,control:"any"};if(n.type==="object"||d(n.properties)){const l=Array.isArray(n.required)?n.required:[],c=new Set([...Object.keys(d(n.properties)?n.properties:{}),...Object.keys(d(s)?s:{})]),a=Array.from(c,h=>C($t(n,h),e,O(s,h),[...r,h],l.includes(h)));return{...o,control:"group",children:a}}if(n.type==="array"){const c=(Array.isArray(s)?s.slice(0,bt):[]).map((a,h)=>C(vt(n,h),e,a,[...r,String(h)],!0));return{...o,control:"list",children:c}}return n.type==="string"?{...o,control:"text"}:n.type==="integer"||n.type==="number"?{...o,control:"number"}:{...o,control:"any"}}function wt(t){return Object.hasOwn(t,"const")?[t.const]:Array.isArray(t.enum)?t.enum:t.type==="boolean"?[!0,!1]:t.type==="null"?[null]:null}function W(t,e,s){const[r,...i]=e;if(r===void 0)return s;const n=W(O(t,r),i,s);if(Array.isArray(t))return t.map((l,c)=>String(c)===r?n:l);const o=Object.entries(d(t)?t:{}),p=o.findIndex(([l])=>l===r);return o.splice(p<0?o.length:p,p<0?0:1,[r,n]),Object.fromEntries(o)}function R(t,e){let s=e;for(const[r,i]of t.entries()){if(Array.isArray(s))return t.slice(0,r);s=O(s,i)}return t}var Ot=Object.defineProperty,At=Object.getOwnPropertyDescriptor,A=(t,e,s,r)=>{for(var i=r>1?void 0:r?At(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&Ot(e,s,i),i};let $=class extends X{constructor(){super(...arguments),this.field=null,this.value=void 0,this.pinned=new Set,this.problems=[],this.certainty=new Map,this.readonly=!1}render(){return this.field===null?y:this.show(this.field)}show(t){if(t.control!=="group"&&t.control!=="list")return this.control(t);const e=m(t.path);return u`<fieldset class=${t.path.length===0?"root":""}>
      ${t.path.length===0?y:u`<legend>${t.name}</legend>`} ${this.wrong(e)}
      ${it(t.children,s=>m(s.path),s=>this.show(s))}
      ${t.children.length===0?u`<p class="muted">Nothing here yet.</p>`:y}
    </fieldset>`}wrong(t){return this.problems.filter(e=>e.pointer===t).map(({message:e})=>u`<p class="error" id=${`problem${t}`}>${e}</p>`)}control(t){const e=m(t.path),s=`field${e}`,r=t.path.reduce(O,this.value),i=this.pinned.has(e),n=this.certainty.get(e),o=r===void 0?"":t.control==="any"||typeof r!="string"?JSON.stringify(r):r,p=c=>this.dispatchEvent(new CustomEvent("sf-value",{detail:{path:t.path,value:c},bubbles:!0,composed:!0})),l=t.control==="choice"?u`<select
            id=${s}
            class=${i?"pinned":""}
            ?disabled=${this.readonly}
            @change=${c=>{p(t.choices[c.target.selectedIndex-1])}}
          >
            <option .selected=${r===void 0}></option>
            ${t.choices.map(c=>u`<option .selected=${JSON.stringify(c)===JSON.stringify(r)}>
                  ${typeof c=="string"?c:JSON.stringify(c)}
                </option>`)}
          </select>`:u`<input
            id=${s}
            class=${i?"pinned":""}
            inputmode=${t.control==="number"?"decimal":"text"}
            autocomplete="off"
            ?readonly=${this.readonly}
            .value=${rt(o)}
            @change=${c=>p(St(c.target.value,t.control))}
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
      ${t.description===""?y:u`<p class="muted">${t.description}</p>`}
      ${this.wrong(e)}
    </div>`}};$.styles=[z,K`
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
    `];A([x({attribute:!1})],$.prototype,"field",2);A([x({attribute:!1})],$.prototype,"value",2);A([x({attribute:!1})],$.prototype,"pinned",2);A([x({attribute:!1})],$.prototype,"problems",2);A([x({attribute:!1})],$.prototype,"certainty",2);A([x({type:Boolean})],$.prototype,"readonly",2);$=A([H("sf-form")],$);function St(t,e){if(t==="")return e==="text"?"":void 0;if(e==="text")return t;try{return JSON.parse(t)}catch{return t}}const J=64,kt=new Map;function F(t){return new Et(t).value(0)}function jt(t,e){return e.reduce((s,r)=>s?.children.get(r)??null,t)}class Et{constructor(e){this.text=e,this.at=0}value(e){this.skip(/[^\]}{[",\-\dtfn]*/y);const s=this.at,r=this.text[s];if(r===void 0||"]},".includes(r)||e>J)return null;if(r==="{")return this.object(s,e);if(r==="[")return this.array(s,e);if(r==='"'){const{text:p,isComplete:l}=this.string();return this.node(p,s,l)}const i=this.skip(/[-+\w.]+/y),n=["true","false","null"].includes(i)?JSON.parse(i):void 0,o=n===void 0&&/^-?\d/.test(i)?Mt(i):n;return this.node(o,s,o!==void 0&&this.at<this.text.length)}object(e,s){const r=new Map;for(this.at++;;){if(this.skip(/[^"}]*/y),this.at>=this.text.length)return this.node(q(r),e,!1,r);if(this.text[this.at]==="}")return this.at++,this.node(q(r),e,!0,r);const i=this.string();if(this.skip(/\s*/y),!i.isComplete||this.text[this.at]!==":")continue;this.at++;const n=this.value(s+1);n!==null?r.set(i.text,n):s>=J&&(this.at=this.text.length)}}array(e,s){const r=new Map,i=()=>Array.from(r.values(),({value:n})=>n);for(this.at++;;){if(this.skip(/[\s,]*/y),this.at>=this.text.length||this.text[this.at]==="}")return this.node(i(),e,!1,r);if(this.text[this.at]==="]")return this.at++,this.node(i(),e,!0,r);const n=this.value(s+1);n!==null?r.set(String(r.size),n):s>=J&&(this.at=this.text.length)}}string(){this.at++;const e=this.skip(/(?:[^"\\]|\\[^])*/y),s=this.text[this.at]==='"';return this.at=s?this.at+1:this.text.length,{text:Pt(e),isComplete:s}}node(e,s,r,i=kt){return{value:e,start:s,end:this.at,children:i,isComplete:r}}skip(e){e.lastIndex=this.at;const[s]=e.exec(this.text)??[""];return this.at+=s.length,s}}function Mt(t){const[e]=/^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/.exec(t)??[""],s=Number(e);return e===""||!Number.isFinite(s)?void 0:s}function q(t){return Object.fromEntries(Array.from(t,([e,{value:s}])=>[e,s]))}function Pt(t){try{return JSON.parse(`"${t}"`)}catch{return t.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/,"").replaceAll(/\\(.)/g,"$1")}}function I(t){return Array.isArray(t)?`[${t.map(I).join(", ")}]`:typeof t=="object"&&t!==null?`{${Object.entries(t).map(([s,r])=>`${JSON.stringify(s)}: ${I(r)}`).join(", ")}}`:JSON.stringify(t??null)}function Nt(t,e){const s=F(t);return e.flatMap(r=>{const i=jt(s,r);return i===null?[]:[[i.start,i.end]]})}function _t(t,e){const s=new Map,r=[];let i=0;for(const p of t.tokens)r.push({start:i,end:i+p.text.length,confidence:p.confidence??1}),i+=p.text.length;const n=(p,l)=>{if(p.children.size===0){const c=r.filter(({start:a,end:h})=>a<p.end&&h>p.start);s.set(m(l),Math.min(1,...c.map(({confidence:a})=>a)))}for(const[c,a]of p.children)n(a,[...l,c])},o=F(e);return o!==null&&n(o,[]),s}const Jt=32,Tt=100;function Ct(t,e){return P(t,t,e,[],0).slice(0,Tt)}function P(t,e,s,r,i){const n=a=>[{pointer:m(r),message:a}];if(t===!1)return n("nothing may stand here");if(t===!0||i>Jt)return[];const o=B(t,e),p=a=>P(a,e,s,r,i+1),l=T(o.allOf).flatMap(p);Object.hasOwn(o,"const")&&!N(o.const,s)&&l.push(...n(`must be ${JSON.stringify(o.const)}`)),Array.isArray(o.enum)&&!o.enum.some(a=>N(a,s))&&l.push(...n(`must be one of ${o.enum.slice(0,10).map(a=>JSON.stringify(a)).join(", ")}`));const c=Array.isArray(o.type)?o.type:o.type===void 0?[]:[o.type];if(c.length>0&&!c.some(a=>Dt(s,a)))return[...l,...n(s===void 0?"is missing":`must be ${c.join(" or ")}`)];Array.isArray(o.anyOf)&&!o.anyOf.some(a=>p(a).length===0)&&l.push(...n("fits none of what is allowed")),Array.isArray(o.oneOf)&&o.oneOf.filter(a=>p(a).length===0).length!==1&&l.push(...n("must fit exactly one of what is allowed"));for(const[a,h,v]of It){const S=o[a];typeof S=="number"&&h(s,S)===!1&&l.push(...n(`${v} ${S}`))}if(d(s)){for(const a of T(o.required))typeof a=="string"&&!Object.hasOwn(s,a)&&l.push({pointer:m([...r,a]),message:"is missing"});for(const a of Object.keys(s)){const h=O(o.properties,a),v=d(o.patternProperties),S=h??(v?!0:o.additionalProperties)??!0;l.push(...P(S,e,s[a],[...r,a],i+1))}}if(Array.isArray(s)){const a=T(o.prefixItems);s.forEach((h,v)=>l.push(...P(a[v]??o.items??!0,e,h,[...r,String(v)],i+1)))}return l}const It=[["minimum",(t,e)=>typeof t=="number"?t>=e:void 0,"must be at least"],["maximum",(t,e)=>typeof t=="number"?t<=e:void 0,"must be at most"],["exclusiveMinimum",(t,e)=>typeof t=="number"?t>e:void 0,"must be more than"],["exclusiveMaximum",(t,e)=>typeof t=="number"?t<e:void 0,"must be less than"],["multipleOf",(t,e)=>typeof t=="number"?Ft(t,e):void 0,"must be a multiple of"],["minLength",(t,e)=>typeof t=="string"?Array.from(t).length>=e:void 0,"has fewer characters than"],["maxLength",(t,e)=>typeof t=="string"?Array.from(t).length<=e:void 0,"has more characters than"],["minItems",(t,e)=>Array.isArray(t)?t.length>=e:void 0,"has fewer items than"],["maxItems",(t,e)=>Array.isArray(t)?t.length<=e:void 0,"has more items than"]];function Ft(t,e){const s=t/e;return Math.abs(s-Math.round(s))<1e-9*Math.max(1,Math.abs(s))}function T(t){return Array.isArray(t)?t:[]}function Dt(t,e){switch(e){case"integer":return Number.isInteger(t);case"number":case"string":case"boolean":return typeof t===e;case"null":return t===null;case"array":return Array.isArray(t);case"object":return d(t);default:return!0}}function N(t,e){if(Array.isArray(t)&&Array.isArray(e))return t.length===e.length&&t.every((s,r)=>N(s,e[r]));if(d(t)&&d(e)){const s=Object.keys(t);return s.length===Object.keys(e).length&&s.every(r=>Object.hasOwn(e,r)&&N(t[r],e[r]))}return t===e}const b={type:"string",maxLength:24},j={type:"integer",minimum:0,maximum:9999};function E(t){return{type:"object",properties:t,required:Object.keys(t),additionalProperties:!1}}const M=[{name:"a pet",text:"Our 8-year-old parrot Mia is red.",schema:E({name:b,animal:{enum:["cat","dog","horse","rabbit","parrot","goat"]},color:{enum:["red","blue","green","black","white","brown","yellow"]},age:j})},{name:"a person",text:"In Oslo lives Anna Berg, a 34-year-old nurse.",schema:E({name:b,age:j,job:b,city:b})},{name:"a thing",text:"A red lamp for 40 euros, in stock.",schema:E({item:b,color:b,price:j,in_stock:{type:"boolean"}})},{name:"an event",text:"Concert in Rome on Friday at 19.",schema:E({event:b,city:b,day:b,hour:j})}];var Lt=Object.defineProperty,Rt=Object.getOwnPropertyDescriptor,g=(t,e,s,r)=>{for(var i=r>1?void 0:r?Rt(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&Lt(e,s,i),i};const qt={value:void 0,pins:[],figures:""},zt=300;function Kt(t,e){return t===e||t.startsWith(`${e}/`)}let f=class extends X{constructor(){super(...arguments),this.place="",this.model="",this.text=M[0]?.text??"",this.schema=null,this.schemaError="",this.steps=L(),this.draft=null,this.problem="",this.stopping=new AbortController,this.asked=0,this.reading=0,this.models=new nt(this,({capabilities:t,sfumato:{kinds:e,tasks:s}})=>t.includes("canvas")&&t.includes("structured_output")&&(e.length===0||s.includes("json")),t=>this.model=t[0]?.id??""),this.onKey=t=>{const e=lt(t);e!==0&&(t.preventDefault(),this.move(e))}}firstUpdated(){this.editor=U({parent:this.mount,root:this.renderRoot,label:"JSON Schema",text:"",extensions:[V(),Y.updateListener.of(({docChanged:e})=>{e&&(clearTimeout(this.reading),this.reading=window.setTimeout(()=>this.readSchema(),zt))})]});const t=Z("structure.asked",null);this.take(M[0]),typeof t?.text=="string"&&typeof t.schema=="string"&&this.put(t.text,t.schema)}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}take(t){t!==void 0&&this.put(t.text,JSON.stringify(t.schema,null,2))}put(t,e){this.stopping.abort(),this.text=t,this.editor.dispatch({changes:{from:0,to:this.editor.state.doc.length,insert:e}}),this.steps=L(),this.readSchema()}keep(){G("structure.asked",{text:this.text,schema:this.editor.state.doc.toString()})}readSchema(){clearTimeout(this.reading),this.problem="",this.keep();try{const t=JSON.parse(this.editor.state.doc.toString());if(!d(t))throw new Error('a schema is an object, such as {"type": "object"}');return[this.schema,this.schemaError]=[t,""],!0}catch(t){return this.schemaError=t instanceof Error?t.message:String(t),!1}}get step(){return ct(this.steps)??qt}get prompt(){return this.models.find(this.model)?.sfumato.tasks.includes("json")?`json: ${this.text}`:`${this.text}

The same as JSON:`}async fill(){if(!this.readSchema()||this.schema===null||this.draft!==null)return;const{value:t,pins:e}=this.step;this.stopping=new AbortController,[this.draft,this.problem]=[{value:t,certainty:new Map},""];const s=this.asked++;let r={model:this.model,prompt:this.prompt,schema:this.schema,seed:s};if(t!==void 0&&e.length>0){const i=I(t);r=ht(r,i,Nt(i,e),s)}try{for await(const i of ut(Q,dt(s),r,this.stopping.signal)){const n=mt(i),o=at(n);if(i.status==="stopped"&&k("Stopped."),i.status==="failed")throw new Error(i.error??"");if(this.draft={value:F(o)?.value,certainty:_t(n,o)},i.status!=="done")continue;const p=JSON.parse(o),{usage:l,finish_reason:c}=n.ending,a=l===void 0?[]:[ft(l.denoising_steps),`${(1e3*l.total_s).toFixed(0)} ms`];c==="steps"&&a.push("not settled, check the values"),this.steps=_(this.steps,{value:p,pins:e,figures:a.join(" · ")}),k(c==="steps"?"Filled, but not settled: check the values.":"Filled.")}}catch(i){if(this.stopping.signal.aborted)return;this.problem=tt(i),k(this.problem)}finally{this.draft=null}}write({path:t,value:e}){const{pins:s}=this.step,r=W(this.step.value,t,e),i=R(t,r),n=s.some(o=>m(o)===m(i));this.steps=_(this.steps,{value:r,pins:n?s:[...s,i],figures:""}),k("Pinned. Fill again to update the rest.")}pin(t){const{value:e,pins:s}=this.step,r=R(t,e),i=s.filter(o=>m(o)!==m(r)),n=i.length===s.length?[...s,r]:i;this.steps=_(this.steps,{...this.step,pins:n})}move(t){const e=this.steps.at;this.draft===null&&e+t>=0&&(this.steps=pt(this.steps,t)),et(t,this.steps.at!==e)}async copy(){try{await navigator.clipboard.writeText(JSON.stringify(this.step.value,null,2)),D("JSON copied.")}catch{D("The browser blocks copying; select the text below and copy it yourself.")}}render(){return u`<div class="page">
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
                @change=${t=>this.take(M[t.target.selectedIndex])}
              >
                ${M.map(({name:t})=>u`<option>${t}</option>`)}
              </select></label
            >
            <label
              >Model
              <select @change=${t=>this.model=t.target.value}>
                ${(this.models.cards??[]).map(({id:t})=>u`<option value=${t} .selected=${t===this.model}>${t}</option>`)}
              </select></label
            >
          </div>
          <label
            >Text
            <textarea
              rows="3"
              .value=${this.text}
              @input=${t=>{this.text=t.target.value,this.keep()}}
            ></textarea>
          </label>
          <div class="schema"></div>
          ${this.schemaError===""?y:u`<p class="error">The schema: ${this.schemaError}.</p>`}
        </section>
        ${this.filled()}
      </div>
    </div>`}filled(){const{schema:t}=this,{value:e,pins:s,figures:r}=this.step,i=t===null||e===void 0||this.draft!==null?[]:Ct(t,e),n=i.filter(({pointer:h})=>s.some(v=>Kt(h,m(v)))),o=this.draft===null?e:this.draft.value,{all:p,at:l}=this.steps,c=e===void 0,a=this.schemaError!=="";return u`<section class="side" aria-label="The form">
      <div class="row bar">
        ${ot({label:s.length>0?"Fill the rest again":c?"Fill":"Fill again",isRunning:this.draft!==null,canStart:t!==null&&!a&&this.model!==""&&this.text.trim()!==""&&n.length===0,start:()=>void this.fill(),stop:()=>this.stopping.abort()})}
        <button ?disabled=${l<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
        <button ?disabled=${l>=p.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
          Redo
        </button>
        <button ?disabled=${c} @click=${()=>this.copy()}>Copy JSON</button>
        <span class="figures">${r}</span>
      </div>
      ${this.problem===""?y:u`<p class="error">${this.problem}</p>`}
      ${n.length===0?y:u`<p class="muted">Correct or unpin the marked values to fill the rest.</p>`}
      ${a&&t!==null?u`<p class="muted">Outdated: this is the form of the schema before its error.</p>`:y}
      ${t===null?y:u`<sf-form
              class="card ${a?"outdated":""}"
              .field=${xt(t,o)}
              .value=${o}
              .pinned=${new Set(s.map(m))}
              .certainty=${this.draft?.certainty??new Map}
              .problems=${i}
              ?readonly=${this.draft!==null||a}
              @sf-value=${({detail:h})=>this.write(h)}
              @sf-pin=${({detail:h})=>this.pin(h)}
            ></sf-form>`}
      ${c?y:u`<details>
              <summary>JSON</summary>
              <pre>${JSON.stringify(e,null,2)}</pre>
            </details>`}
    </section>`}};f.styles=[z,K`
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
    `];g([x()],f.prototype,"place",2);g([w()],f.prototype,"model",2);g([w()],f.prototype,"text",2);g([w()],f.prototype,"schema",2);g([w()],f.prototype,"schemaError",2);g([w()],f.prototype,"steps",2);g([w()],f.prototype,"draft",2);g([w()],f.prototype,"problem",2);g([st(".schema")],f.prototype,"mount",2);f=g([H("sf-structure-page")],f);export{f as StructurePage};
