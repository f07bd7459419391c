import{k as V,y as Y,d as Z}from"./code-DPSt_DQg.js";import{e as z,i as X,o as O,g as B,A as g,d as h,C as H,v as G,u as Q,c as tt,b as k,z as et,F as st,x as L,r as A,f as rt}from"./index-CMMe71eo.js";import{l as it}from"./live-Cg5bwphB.js";import{c as nt}from"./repeat-DFZ7HjUn.js";import{M as ot}from"./models-B0BZkP56.js";import{s as at}from"./start-stop-iAhsBg9B.js";import{t as lt}from"./canvas-BqwZnn-S.js";import{b as ct}from"./keys-D98DPntO.js";import{n as R,c as pt,p as _,g as ht}from"./steps-Bb5mR1ze.js";import{a as ut,g as dt,n as ft,l as mt,i as yt}from"./take-R79uc_On.js";import"./offsets-EgNy2a1f.js";const gt=8,bt=3,$t=200;function m(t){return t.map(e=>`/${e.replaceAll("~","~0").replaceAll("/","~1")}`).join("")}function f(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}function x(t,e){return Array.isArray(t)?/^\d+$/.test(e)?t[Number(e)]:void 0:f(t)&&Object.hasOwn(t,e)?t[e]:void 0}function W(t,e){const s=new Set;for(;f(t)&&typeof t.$ref=="string"&&!s.has(t);)s.add(t),t=t.$ref.split("/").slice(1).map(i=>i.replaceAll("~1","/").replaceAll("~0","~")).reduce(x,e);return f(t)&&typeof t.$ref!="string"?t:{}}function vt(t,e){return x(t.properties,e)??(f(t.additionalProperties)?t.additionalProperties:{})}function xt(t,e){return(Array.isArray(t.prefixItems)?t.prefixItems[e]:void 0)??t.items??{}}function wt(t,e){return C(t,t,e,[],!0)}function C(t,e,s,r,i){const n=W(t,e),o={path:r,name:typeof n.title=="string"?n.title:r.at(-1)??"The answer",description:typeof n.description=="string"?n.description:"",isRequired:i,choices:[],children:[]},p=Ot(n);if(p!==null)return{...o,control:"choice",choices:p};if(r.length>=(s===void 0?bt:gt))return{...o,control:"any"};if(n.type==="object"||f(n.properties)){const l=Array.isArray(n.required)?n.required:[],c=new Set([...Object.keys(f(n.properties)?n.properties:{}),...Object.keys(f(s)?s:{})]),a=!!n.additionalProperties||"patternProperties"in n,u=Array.from(c,d=>{const w=vt(n,d),D=C(w,e,x(s,d),[...r,d],l.includes(d));return a||x(n.properties,d)!==void 0?D:{...D,description:"Not in the schema: gone when the form is filled again."}});return{...o,control:"group",children:u}}if(n.type==="array"){const c=(Array.isArray(s)?s.slice(0,$t):[]).map((a,u)=>C(xt(n,u),e,a,[...r,String(u)],!0));return{...o,control:"list",children:c}}return n.type==="string"?{...o,control:"text"}:n.type==="integer"||n.type==="number"?{...o,control:"number"}:{...o,control:"any"}}function Ot(t){return Object.hasOwn(t,"const")?[t.const]:Array.isArray(t.enum)?t.enum:t.type==="boolean"?[!0,!1]:t.type==="null"?[null]:null}function U(t,e,s){const[r,...i]=e;if(r===void 0)return s;const n=U(x(t,r),i,s);if(Array.isArray(t))return t.map((l,c)=>String(c)===r?n:l);const o=Object.entries(f(t)?t:{}),p=o.findIndex(([l])=>l===r);return o.splice(p<0?o.length:p,p<0?0:1,[r,n]),Object.fromEntries(o)}function K(t,e){let s=e;for(const[r,i]of t.entries()){if(Array.isArray(s))return t.slice(0,r);s=x(s,i)}return t}var At=Object.defineProperty,St=Object.getOwnPropertyDescriptor,S=(t,e,s,r)=>{for(var i=r>1?void 0:r?St(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&At(e,s,i),i};let v=class extends B{constructor(){super(...arguments),this.field=null,this.value=void 0,this.pinned=new Set,this.problems=[],this.certainty=new Map,this.readonly=!1}render(){return this.field===null?g:this.show(this.field)}show(t){if(t.control!=="group"&&t.control!=="list")return this.control(t);const e=m(t.path);return h`<fieldset class=${t.path.length===0?"root":""}>
      ${t.path.length===0?g:h`<legend>${t.name}</legend>`} ${this.wrong(e)}
      ${nt(t.children,s=>m(s.path),s=>this.show(s))}
      ${t.children.length===0?h`<p class="muted">Nothing here yet.</p>`:g}
    </fieldset>`}wrong(t){return this.problems.filter(e=>e.pointer===t).map(({message:e})=>h`<p class="error" id=${`problem${t}`}>${e}</p>`)}control(t){const e=m(t.path),s=`field${e}`,r=t.path.reduce(x,this.value),i=this.pinned.has(e),n=this.certainty.get(e),o=r===void 0?"":t.control==="any"||typeof r!="string"?JSON.stringify(r):r,p=c=>this.dispatchEvent(new CustomEvent("sf-value",{detail:{path:t.path,value:c},bubbles:!0,composed:!0})),l=t.control==="choice"?h`<select
            id=${s}
            class=${i?"pinned":""}
            ?disabled=${this.readonly}
            @change=${c=>{p(t.choices[c.target.selectedIndex-1])}}
          >
            <option .selected=${r===void 0}></option>
            ${t.choices.map(c=>h`<option .selected=${JSON.stringify(c)===JSON.stringify(r)}>
                  ${typeof c=="string"?c:JSON.stringify(c)}
                </option>`)}
          </select>`:h`<input
            id=${s}
            class=${i?"pinned":""}
            inputmode=${t.control==="number"?"decimal":"text"}
            autocomplete="off"
            ?readonly=${this.readonly}
            .value=${it(o)}
            @change=${c=>p(kt(c.target.value,t.control))}
          />`;return h`<div class="field">
      <label class="name" for=${s}
        >${t.name}${t.isRequired?"":h` <span class="muted">optional</span>`}</label
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
      ${t.description===""?g:h`<p class="muted">${t.description}</p>`}
      ${this.wrong(e)}
    </div>`}};v.styles=[z,X`
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
    `];S([O({attribute:!1})],v.prototype,"field",2);S([O({attribute:!1})],v.prototype,"value",2);S([O({attribute:!1})],v.prototype,"pinned",2);S([O({attribute:!1})],v.prototype,"problems",2);S([O({attribute:!1})],v.prototype,"certainty",2);S([O({type:Boolean})],v.prototype,"readonly",2);v=S([H("sf-form")],v);function kt(t,e){if(t==="")return e==="text"?"":void 0;if(e==="text")return t;try{return JSON.parse(t)}catch{return t}}const J=64,jt=new Map;function F(t){return new Mt(t).value(0)}function Et(t,e){return e.reduce((s,r)=>s?.children.get(r)??null,t)}class Mt{constructor(e){this.text=e,this.at=0}value(e){this.skip(/[^\]}{[",\-\dtfn]*/y);const s=this.at,r=this.text[s];if(r===void 0||"]},".includes(r)||e>J)return null;if(r==="{")return this.object(s,e);if(r==="[")return this.array(s,e);if(r==='"'){const{text:p,isComplete:l}=this.string();return this.node(p,s,l)}const i=this.skip(/[-+\w.]+/y),n=["true","false","null"].includes(i)?JSON.parse(i):void 0,o=n===void 0&&/^-?\d/.test(i)?Pt(i):n;return this.node(o,s,o!==void 0&&this.at<this.text.length)}object(e,s){const r=new Map;for(this.at++;;){if(this.skip(/[^"}]*/y),this.at>=this.text.length)return this.node(q(r),e,!1,r);if(this.text[this.at]==="}")return this.at++,this.node(q(r),e,!0,r);const i=this.string();if(this.skip(/\s*/y),!i.isComplete||this.text[this.at]!==":")continue;this.at++;const n=this.value(s+1);n!==null?r.set(i.text,n):s>=J&&(this.at=this.text.length)}}array(e,s){const r=new Map,i=()=>Array.from(r.values(),({value:n})=>n);for(this.at++;;){if(this.skip(/[\s,]*/y),this.at>=this.text.length||this.text[this.at]==="}")return this.node(i(),e,!1,r);if(this.text[this.at]==="]")return this.at++,this.node(i(),e,!0,r);const n=this.value(s+1);n!==null?r.set(String(r.size),n):s>=J&&(this.at=this.text.length)}}string(){this.at++;const e=this.skip(/(?:[^"\\]|\\[^])*/y),s=this.text[this.at]==='"';return this.at=s?this.at+1:this.text.length,{text:Nt(e),isComplete:s}}node(e,s,r,i=jt){return{value:e,start:s,end:this.at,children:i,isComplete:r}}skip(e){e.lastIndex=this.at;const[s]=e.exec(this.text)??[""];return this.at+=s.length,s}}function Pt(t){const[e]=/^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/.exec(t)??[""],s=Number(e);return e===""||!Number.isFinite(s)?void 0:s}function q(t){return Object.fromEntries(Array.from(t,([e,{value:s}])=>[e,s]))}function Nt(t){try{return JSON.parse(`"${t}"`)}catch{return t.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/,"").replaceAll(/\\(.)/g,"$1")}}function I(t){return Array.isArray(t)?`[${t.map(I).join(", ")}]`:typeof t=="object"&&t!==null?`{${Object.entries(t).map(([s,r])=>`${JSON.stringify(s)}: ${I(r)}`).join(", ")}}`:JSON.stringify(t??null)}function _t(t,e){const s=F(t);return e.flatMap(r=>{const i=Et(s,r);return i===null?[]:[[i.start,i.end]]})}function Jt(t,e){const s=new Map,r=[];let i=0;for(const p of t.tokens)r.push({start:i,end:i+p.text.length,confidence:p.confidence??1}),i+=p.text.length;const n=(p,l)=>{if(p.children.size===0){const c=r.filter(({start:a,end:u})=>a<p.end&&u>p.start);s.set(m(l),Math.min(1,...c.map(({confidence:a})=>a)))}for(const[c,a]of p.children)n(a,[...l,c])},o=F(e);return o!==null&&n(o,[]),s}const Tt=32,Ct=100;function It(t,e){return P(t,t,e,[],0).slice(0,Ct)}function P(t,e,s,r,i){const n=a=>[{pointer:m(r),message:a}];if(t===!1)return n("nothing may stand here");if(t===!0||i>Tt)return[];const o=W(t,e),p=a=>P(a,e,s,r,i+1),l=T(o.allOf).flatMap(p);Object.hasOwn(o,"const")&&!N(o.const,s)&&l.push(...n(`must be ${JSON.stringify(o.const)}`)),Array.isArray(o.enum)&&!o.enum.some(a=>N(a,s))&&l.push(...n(`must be one of ${o.enum.slice(0,10).map(a=>JSON.stringify(a)).join(", ")}`));const c=Array.isArray(o.type)?o.type:o.type===void 0?[]:[o.type];if(c.length>0&&!c.some(a=>Lt(s,a)))return[...l,...n(s===void 0?"is missing":`must be ${c.join(" or ")}`)];Array.isArray(o.anyOf)&&!o.anyOf.some(a=>p(a).length===0)&&l.push(...n("fits none of what is allowed")),Array.isArray(o.oneOf)&&o.oneOf.filter(a=>p(a).length===0).length!==1&&l.push(...n("must fit exactly one of what is allowed"));for(const[a,u,d]of Ft){const w=o[a];typeof w=="number"&&u(s,w)===!1&&l.push(...n(`${d} ${w}`))}if(f(s)){for(const a of T(o.required))typeof a=="string"&&!Object.hasOwn(s,a)&&l.push({pointer:m([...r,a]),message:"is missing"});for(const a of Object.keys(s)){const u=x(o.properties,a),d=f(o.patternProperties),w=u??(d?!0:o.additionalProperties)??!0;l.push(...P(w,e,s[a],[...r,a],i+1))}}if(Array.isArray(s)){const a=T(o.prefixItems);s.forEach((u,d)=>l.push(...P(a[d]??o.items??!0,e,u,[...r,String(d)],i+1)))}return l}const Ft=[["minimum",(t,e)=>typeof t=="number"?t>=e:void 0,"must be at least"],["maximum",(t,e)=>typeof t=="number"?t<=e:void 0,"must be at most"],["exclusiveMinimum",(t,e)=>typeof t=="number"?t>e:void 0,"must be more than"],["exclusiveMaximum",(t,e)=>typeof t=="number"?t<e:void 0,"must be less than"],["multipleOf",(t,e)=>typeof t=="number"?Dt(t,e):void 0,"must be a multiple of"],["minLength",(t,e)=>typeof t=="string"?Array.from(t).length>=e:void 0,"has fewer characters than"],["maxLength",(t,e)=>typeof t=="string"?Array.from(t).length<=e:void 0,"has more characters than"],["minItems",(t,e)=>Array.isArray(t)?t.length>=e:void 0,"has fewer items than"],["maxItems",(t,e)=>Array.isArray(t)?t.length<=e:void 0,"has more items than"]];function Dt(t,e){const s=t/e;return Math.abs(s-Math.round(s))<1e-9*Math.max(1,Math.abs(s))}function T(t){return Array.isArray(t)?t:[]}function Lt(t,e){switch(e){case"integer":return Number.isInteger(t);case"number":case"string":case"boolean":return typeof t===e;case"null":return t===null;case"array":return Array.isArray(t);case"object":return f(t);default:return!0}}function N(t,e){if(Array.isArray(t)&&Array.isArray(e))return t.length===e.length&&t.every((s,r)=>N(s,e[r]));if(f(t)&&f(e)){const s=Object.keys(t);return s.length===Object.keys(e).length&&s.every(r=>Object.hasOwn(e,r)&&N(t[r],e[r]))}return t===e}const $={type:"string",maxLength:24},j={type:"integer",minimum:0,maximum:9999};function E(t){return{type:"object",properties:t,required:Object.keys(t),additionalProperties:!1}}const M=[{name:"a pet",text:"Our 8-year-old parrot Mia is red.",schema:E({name:$,animal:{enum:["cat","dog","horse","rabbit","parrot","goat"]},color:{enum:["red","blue","green","black","white","brown","yellow"]},age:j})},{name:"a person",text:"In Oslo lives Anna Berg, a 34-year-old nurse.",schema:E({name:$,age:j,job:$,city:$})},{name:"a thing",text:"A red lamp for 40 euros, in stock.",schema:E({item:$,color:$,price:j,in_stock:{type:"boolean"}})},{name:"an event",text:"Concert in Rome on Friday at 19.",schema:E({event:$,city:$,day:$,hour:j})}];var Rt=Object.defineProperty,Kt=Object.getOwnPropertyDescriptor,b=(t,e,s,r)=>{for(var i=r>1?void 0:r?Kt(e,s):e,n=t.length-1,o;n>=0;n--)(o=t[n])&&(i=(r?o(e,s,i):o(i))||i);return r&&i&&Rt(e,s,i),i};const qt={value:void 0,pins:[],figures:""},zt=300;function Xt(t,e){return t===e||t.startsWith(`${e}/`)}let y=class extends B{constructor(){super(...arguments),this.place="",this.model="",this.text=M[0]?.text??"",this.schema=null,this.schemaError="",this.steps=R(),this.draft=null,this.problem="",this.stopping=new AbortController,this.asked=0,this.reading=0,this.models=new ot(this,({capabilities:t,sfumato:{kinds:e,tasks:s}})=>t.includes("canvas")&&t.includes("structured_output")&&(e.length===0||s.includes("json")),t=>this.model=t[0]?.id??""),this.onKey=t=>{const e=ct(t);e!==0&&(t.preventDefault(),this.move(e))}}firstUpdated(){this.editor=V({parent:this.mount,root:this.renderRoot,label:"JSON Schema",text:"",extensions:[Y(),Z.updateListener.of(({docChanged:e})=>{e&&(clearTimeout(this.reading),this.reading=window.setTimeout(()=>this.readSchema(),zt))})]});const t=G("structure.asked",null);this.take(M[0]),typeof t?.text=="string"&&typeof t.schema=="string"&&this.put(t.text,t.schema)}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}take(t){t!==void 0&&this.put(t.text,JSON.stringify(t.schema,null,2))}put(t,e){this.stopping.abort(),this.text=t,this.editor.dispatch({changes:{from:0,to:this.editor.state.doc.length,insert:e}}),this.steps=R(),this.readSchema()}keep(){Q("structure.asked",{text:this.text,schema:this.editor.state.doc.toString()})}readSchema(){clearTimeout(this.reading),this.problem="",this.keep();try{const t=JSON.parse(this.editor.state.doc.toString());if(!f(t))throw new Error('a schema is an object, such as {"type": "object"}');return[this.schema,this.schemaError]=[t,""],!0}catch(t){return this.schemaError=t instanceof Error?t.message:String(t),!1}}get step(){return pt(this.steps)??qt}get prompt(){return this.models.find(this.model)?.sfumato.tasks.includes("json")?`json: ${this.text}`:`${this.text}

The same as JSON:`}async fill(){if(!this.readSchema()||this.schema===null||this.draft!==null)return;const{value:t,pins:e}=this.step;this.stopping=new AbortController,[this.draft,this.problem]=[{value:t,certainty:new Map},""];const s=this.asked++;let r={model:this.model,prompt:this.prompt,schema:this.schema,seed:s};if(t!==void 0&&e.length>0){const i=I(t);r=ut(r,i,_t(i,e),s)}try{for await(const i of dt(tt,ft(s),r,this.stopping.signal)){const n=mt(i),o=lt(n);if(i.status==="stopped"&&k("Stopped."),i.status==="failed")throw new Error(i.error??"");if(this.draft={value:F(o)?.value,certainty:Jt(n,o)},i.status!=="done")continue;const p=JSON.parse(o),{usage:l,finish_reason:c}=n.ending,a=l===void 0?[]:[yt(l.denoising_steps),`${(1e3*l.total_s).toFixed(0)} ms`];c==="steps"&&a.push("not settled, check the values"),this.steps=_(this.steps,{value:p,pins:e,figures:a.join(" · ")}),k(c==="steps"?"Filled, but not settled: check the values.":"Filled.")}}catch(i){if(this.stopping.signal.aborted)return;this.problem=et(i),k(this.problem)}finally{this.draft=null}}write({path:t,value:e}){const{pins:s}=this.step,r=U(this.step.value,t,e),i=K(t,r),n=s.some(o=>m(o)===m(i));this.steps=_(this.steps,{value:r,pins:n?s:[...s,i],figures:""}),k("Pinned. Fill again to update the rest.")}pin(t){const{value:e,pins:s}=this.step,r=K(t,e),i=s.filter(o=>m(o)!==m(r)),n=i.length===s.length?[...s,r]:i;this.steps=_(this.steps,{...this.step,pins:n})}move(t){const e=this.steps.at;this.draft===null&&e+t>=0&&(this.steps=ht(this.steps,t)),st(t,this.steps.at!==e)}async copy(){try{await navigator.clipboard.writeText(JSON.stringify(this.step.value,null,2)),L("JSON copied.")}catch{L("The browser blocks copying; select the text below and copy it yourself.")}}render(){return h`<div class="page">
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
                ${M.map(({name:t})=>h`<option>${t}</option>`)}
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
              @input=${t=>{this.text=t.target.value,this.keep()}}
            ></textarea>
          </label>
          <div class="schema"></div>
          ${this.schemaError===""?g:h`<p class="error">The schema: ${this.schemaError}.</p>`}
        </section>
        ${this.filled()}
      </div>
    </div>`}filled(){const{schema:t}=this,{value:e,pins:s,figures:r}=this.step,i=t===null||e===void 0||this.draft!==null?[]:It(t,e),n=i.filter(({pointer:u})=>s.some(d=>Xt(u,m(d)))),o=this.draft===null?e:this.draft.value,{all:p,at:l}=this.steps,c=e===void 0,a=this.schemaError!=="";return h`<section class="side" aria-label="The form">
      <div class="row bar">
        ${at({label:s.length>0?"Fill the rest again":c?"Fill":"Fill again",isRunning:this.draft!==null,canStart:t!==null&&!a&&this.model!==""&&this.text.trim()!==""&&n.length===0,start:()=>void this.fill(),stop:()=>this.stopping.abort()})}
        <button ?disabled=${l<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
        <button ?disabled=${l>=p.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
          Redo
        </button>
        <button ?disabled=${c} @click=${()=>this.copy()}>Copy JSON</button>
        <span class="figures">${r}</span>
      </div>
      ${this.problem===""?g:h`<p class="error">${this.problem}</p>`}
      ${n.length===0?g:h`<p class="muted">Correct or unpin the marked values to fill the rest.</p>`}
      ${a&&t!==null?h`<p class="muted">Outdated: this is the form of the schema before its error.</p>`:g}
      ${t===null?g:h`<sf-form
              class="card ${a?"outdated":""}"
              .field=${wt(t,o)}
              .value=${o}
              .pinned=${new Set(s.map(m))}
              .certainty=${this.draft?.certainty??new Map}
              .problems=${i}
              ?readonly=${this.draft!==null||a}
              @sf-value=${({detail:u})=>this.write(u)}
              @sf-pin=${({detail:u})=>this.pin(u)}
            ></sf-form>`}
      ${c?g:h`<details>
              <summary>JSON</summary>
              <pre>${JSON.stringify(e,null,2)}</pre>
            </details>`}
    </section>`}};y.styles=[z,X`
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
    `];b([O()],y.prototype,"place",2);b([A()],y.prototype,"model",2);b([A()],y.prototype,"text",2);b([A()],y.prototype,"schema",2);b([A()],y.prototype,"schemaError",2);b([A()],y.prototype,"steps",2);b([A()],y.prototype,"draft",2);b([A()],y.prototype,"problem",2);b([rt(".schema")],y.prototype,"mount",2);y=b([H("sf-structure-page")],y);export{y as StructurePage};
