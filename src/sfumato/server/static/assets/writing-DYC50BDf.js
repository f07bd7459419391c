import{o as x,p as A,e as M,i as N,n as h,r as K,f as S,g as W,A as w,d as a,t as P,k as T,c as $,b as C,m as j}from"./index-BtolXjW9.js";import"./canvas-CWvv-g_X.js";import{i as q}from"./keys-DoTgPSuZ.js";import{a as B,b as z}from"./answer-DGxee2HY.js";import{t as I}from"./canvas-BqwZnn-S.js";const H=100,X=80;class Ot{constructor(t,s){this.name=t,this.read=s}topics(){return this.entries().map(({topic:t})=>t)}find(t){const s=this.entries().find(i=>E(i.topic,t));return s===void 0?null:this.read(s.page)}keep(t,s){const i=this.entries().filter(n=>!E(n.topic,t));x(this.name,[{topic:t,page:s},...i].slice(0,H))}forget(t){const s=this.entries();return x(this.name,s.filter(i=>!E(i.topic,t))),()=>x(this.name,s)}entries(){const t=A(this.name,[]);return(Array.isArray(t)?t:[]).filter(U)}}function U(e){return typeof e=="object"&&e!==null&&typeof e.topic=="string"}function E(e,t){return e.toLowerCase()===t.toLowerCase()}function R(e){return e.replace(/\s+/gu," ").trim().slice(0,X).trim()}function k(e,t){return`${e}/${encodeURIComponent(t)}`}var V=Object.defineProperty,G=Object.getOwnPropertyDescriptor,u=(e,t,s,i)=>{for(var n=i>1?void 0:i?G(t,s):t,o=e.length-1,r;o>=0;o--)(r=e[o])&&(n=(i?r(t,s,n):r(n))||n);return i&&n&&V(t,s,n),n};let p=class extends W{constructor(){super(...arguments),this.name="",this.text="",this.by="",this.pieces=null,this.base="",this.draft=void 0,this.problem="",this.code=!1,this.able=!1,this.isByHand=!1}open(){this.isByHand=!0,this.updateComplete.then(()=>this.field?.focus())}save(){const e=this.field?.value.trim()??"";this.close(),e!==this.text&&this.dispatchEvent(new CustomEvent("sf-written",{detail:e}))}close(){this.isByHand=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".hand")?.focus())}onKey(e){if(e.key==="Escape")this.close();else if(e.key==="Enter"&&(e.ctrlKey||e.metaKey))this.save();else return;e.preventDefault()}render(){return this.draft!==void 0?this.forming(this.draft):this.isByHand?this.form():a`${this.text===""?this.missing():a`<p class="text">${this.linked()}</p>`}
      <div class="row tools">
        <span class="by">${this.by===""?w:`Written by ${this.by}`}</span>
        ${this.able?a`<button
                class="quiet"
                aria-label="${this.text===""?"Write":"Write again"}: ${this.name}"
                @click=${()=>this.dispatchEvent(new CustomEvent("sf-again"))}
              >
                ${this.text===""?"Write":"Write again"}
              </button>`:w}
        <button
          class="quiet hand"
          aria-label="${this.text===""?"Write it yourself":"Edit"}: ${this.name}"
          @click=${()=>this.open()}
        >
          ${this.text===""?"Write it yourself":"Edit"}
        </button>
        <slot></slot>
      </div>`}missing(){return this.problem!==""?a`<p class="error">It was not written: ${this.problem}</p>`:a`<p class="waiting">
      ${this.able?"Not written yet.":"Not written: none of this server's models can write prose."}
    </p>`}forming(e){return e===null||e.tokens.length===0?a`<p class="waiting" aria-busy="true">${this.text===""?"Writing …":this.text}</p>`:a`<sf-canvas
      aria-busy="true"
      label="${this.name}, being written"
      .tokens=${e.tokens}
      .clock=${e.clock}
    ></sf-canvas>`}form(){return a`<textarea
        rows="5"
        aria-label=${this.name}
        .value=${this.text}
        @keydown=${e=>this.onKey(e)}
      ></textarea>
      <div class="row tools">
        <button class="primary" title="Ctrl+Enter" @click=${()=>this.save()}>Save</button>
        <button title="Escape" @click=${()=>this.close()}>Cancel</button>
      </div>`}linked(){return(this.pieces??[{text:this.text}]).map(({text:t,topic:s})=>s===void 0?t:a`<a href=${k(this.base,s)}>${t}</a>`)}};p.styles=[M,N`
      p {
        margin: 0;
        overflow-wrap: anywhere;
      }
      .text {
        white-space: pre-wrap;
      }
      :host([code]) .text {
        font-family: var(--mono);
        font-size: 0.9rem;
      }
      sf-canvas::part(text) {
        font: inherit;
        line-height: inherit;
      }
      textarea {
        width: 100%;
        resize: vertical;
      }
      .tools {
        margin-top: 0.3rem;
        font-size: 0.8rem;
        gap: 0.25rem;
      }
      .tools button {
        padding: 0.1rem 0.5rem;
      }
      .by {
        color: var(--muted);
        margin-right: auto;
      }
      .waiting {
        color: var(--muted);
      }
    `];u([h()],p.prototype,"name",2);u([h()],p.prototype,"text",2);u([h()],p.prototype,"by",2);u([h({attribute:!1})],p.prototype,"pieces",2);u([h()],p.prototype,"base",2);u([h({attribute:!1})],p.prototype,"draft",2);u([h()],p.prototype,"problem",2);u([h({type:Boolean,reflect:!0})],p.prototype,"code",2);u([h({type:Boolean})],p.prototype,"able",2);u([K()],p.prototype,"isByHand",2);u([S("textarea")],p.prototype,"field",2);p=u([P("sf-prose")],p);var F=Object.defineProperty,Y=Object.getOwnPropertyDescriptor,g=(e,t,s,i)=>{for(var n=i>1?void 0:i?Y(t,s):t,o=e.length-1,r;o>=0;o--)(r=e[o])&&(n=(i?r(t,s,n):r(n))||n);return i&&n&&F(t,s,n),n};let f=class extends W{constructor(){super(...arguments),this.base="",this.label="Topic",this.verb="Open",this.examples=[],this.kept=[],this.small=!1,this.topic="",this.onKey=e=>{q(e)&&(e.preventDefault(),this.field.focus())}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}ask(e){e.preventDefault();const t=R(this.topic);t!==""&&(this.topic="",T(k(this.base,t)))}render(){const e=a`<form @submit=${t=>this.ask(t)}>
      <label
        >${this.label}
        <input
          autocomplete="off"
          maxlength="80"
          placeholder=${this.examples[0]??""}
          .value=${this.topic}
          @input=${t=>this.topic=t.target.value}
      /></label>
      <button class="primary" ?disabled=${this.topic.trim()===""}>${this.verb}</button>
    </form>`;return this.small?e:a`${e}
      <div class="chips" role="group" aria-label="Examples">
        ${this.examples.map(t=>a`<a href=${k(this.base,t)}>${t}</a>`)}
      </div>
      ${this.kept.length===0?w:a`<h2>Kept on this device</h2>
              <ul>
                ${this.kept.map(t=>a`<li>
                      <a href=${k(this.base,t)}>${t}</a>
                      <button
                        class="quiet"
                        aria-label="Delete ${t}"
                        @click=${()=>this.dispatchEvent(new CustomEvent("sf-forget",{detail:t}))}
                      >
                        ×
                      </button>
                    </li>`)}
              </ul>`}`}};f.styles=[M,N`
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 12rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        margin-block: 0.9rem 1.5rem;
      }
      .chips a {
        border: 1px solid var(--line);
        border-radius: 999px;
        background: var(--surface-2);
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
        color: inherit;
        text-decoration: none;
      }
      .chips a:hover {
        border-color: var(--accent);
      }
      ul {
        list-style: none;
        padding: 0;
        margin: 0;
        columns: 16rem auto;
      }
      li {
        display: flex;
        gap: 0.25rem;
        align-items: baseline;
        break-inside: avoid;
      }
      li a {
        overflow-wrap: anywhere;
      }
      li button {
        padding: 0 0.5rem;
      }
    `];g([h()],f.prototype,"base",2);g([h()],f.prototype,"label",2);g([h()],f.prototype,"verb",2);g([h({attribute:!1})],f.prototype,"examples",2);g([h({attribute:!1})],f.prototype,"kept",2);g([h({type:Boolean})],f.prototype,"small",2);g([K()],f.prototype,"topic",2);g([S("input")],f.prototype,"field",2);f=g([P("sf-topics")],f);const J=100,Q=5;function O(e){return e.filter(({capabilities:t,sfumato:s})=>t.includes("chat")&&s.kinds.length===0)}function Ct(e,t){return e.find(({sfumato:s})=>s.kinds.some(({pattern:i})=>Z(i,t)))}function Z(e,t){if(typeof e!="string")return!1;try{return new RegExp(`^(?:${e})$`).test(t)}catch{return!1}}async function D(e,t,s,i){const{seed:n,signal:o,onView:r}=i,l=t.sfumato.kinds.length>0,c={messages:[{role:"user",content:s}],seed:n,...l?{}:{max_tokens:J}},{text:m,reason:d}=await B(z(e,t,c,o),r),b=d==="length"?tt(m):m.trim();if(b==="")throw new Error(`${t.id} wrote nothing; try again`);return b}function tt(e){const[t=""]=/^.*[.!?…]["”’)]?(?=\s|$)/su.exec(e)??[];return(t===""?e:t).trim()}const et=/\p{Lu}[\p{L}\d'’-]*(?:(?: of| of the)? \p{Lu}[\p{L}\d'’-]*)+|\p{L}[\p{L}'’-]{2,}/gu,st=/(?:^|[.!?:\n]["”’)]?\s+|["“(])$/u,it=new Set(`about above across actually after again against almost along already also although always among another anything
  around because become becomes before behind being below beneath besides between beyond both cannot certain cause
  causes common consider contain contains create creates despite different difficult during either enough especially
  even every everyone everything example examples first following form forms from further general good great greater
  have however important include includes instead into itself known large later least less like little long made main
  make makes many matter mean means might more most much must myself nature near never nothing number often once only
  other others over part parts people perhaps place places possible provide provides quite rather really rise rises same
  second several should simple simply since small some something sometimes somewhere soon start still such surface than that
  their them themselves then there therefore these they thing things this those though through throughout thus time
  times together too toward towards under unique unlike until upon used useful usually variety various very well what
  when where whether which while will with within without world would year years your yourself`.split(/\s+/));function _t(e,t){const s=new Map;for(const r of e.matchAll(et)){const{words:l,at:c,isName:m}=rt(r[0],r.index,e),d=l.replace(/['’]\p{L}*$/u,""),b=nt(d),y=s.get(b);y!==void 0?y.count++:!t.has(b)&&(m?d.length>2:ot(d.toLowerCase()))&&s.set(b,{text:d,at:c,weight:d.length+(m?20:0),count:1})}const i=[...s.values()].map(r=>({...r,weight:r.weight+4*(r.count-1)})).filter(({weight:r})=>r>6).sort((r,l)=>l.weight-r.weight||r.at-l.at).slice(0,Q).sort((r,l)=>r.at-l.at),n=[];let o=0;for(const r of i)r.at>o&&n.push({text:e.slice(o,r.at)}),n.push({text:r.text,topic:at(r.text)}),o=r.at+r.text.length;return o<e.length&&n.push({text:e.slice(o)}),n}function nt(e){return e.toLowerCase().replace(/(?:es|s)$/,"")}function rt(e,t,s){if(!st.test(s.slice(0,t)))return{words:e,at:t,isName:/^\p{Lu}/u.test(e)};const i=e.indexOf(" ");return i<0?{words:e,at:t,isName:!1}:{words:e.slice(i+1),at:t+i+1,isName:!0}}function ot(e){return e.length>4&&!it.has(e)&&!/(?:ly|ing|ed|al|ive|ous|ful|less|ble|ic|est)$/.test(e)}function at(e){return e.charAt(0).toUpperCase()+e.slice(1)}const lt=2,ct=96,ht=32,pt=6;function _(e,t){return[...e.filter(({sfumato:i})=>i.tasks.includes("ui_screen")).map(i=>({card:i,isWriter:!1})),...t.map(i=>({card:i,isWriter:!0}))]}function ut(e){return{lines:e.map(([t=""])=>t),by:"",canvas:null}}async function ft(e,t,s,i,n){const{seed:o,signal:r,onLines:l}=n,c=`screen: a list about ${mt(s)} with ${i.length} items`,m={model:t,prompt:c,regex:gt(i),steps:lt,canvas_length:ct,seed:o};let d=null;const b=async function*(){for await(const v of e.stream(m,r))d=v.canvas_id,yield v},{text:y}=await B(b(),v=>l(L(I(v),i)));return{lines:L(y,i),by:t,canvas:d}}async function dt(e,t,s,i){const n=wt(await D(e,t,s,{...i,onView:()=>{}}));if(n.length<2)throw new Error(`${t.id} wrote no list; choose another model for the headings`);return{lines:n,by:t.id,canvas:null}}function mt(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim().slice(0,ht).trim()}function gt(e){return["page"," list",...e.map(t=>`  item: (?:${t.map(bt).join("|")})`)].join(`
`)}function bt(e){return e.replace(/[\\^$.|?*+()[\]{}]/g,"\\$&")}function L(e,t){const s=e.split(`
`).map(i=>i.replace(/^ *item: /,""));return t.flatMap(i=>i.find(n=>s.includes(n))??[])}function wt(e){const t=e.split(`
`).map(s=>s.replace(/^\s*(?:[-*•#]+|\(?\d+[.):]?)\s*/u,"").replaceAll(/[*_"“”`]/g,"").replace(/[\s:.]+$/u,"").trim());return[...new Set(t.filter(s=>s!==""&&s.length<=60))].slice(0,pt)}const yt=3;class Lt{constructor(t,s){this.host=t,this.name=s,this.cards=null,this.drafts=new Map,this.problems=new Map,this.outlining=null,this.stopping=new AbortController,this.asked=0,t.addController(this),this.chosen={writer:"",outliner:"",...A(`${s}.models`,{})}}hostDisconnected(){this.stop()}async begin(){this.cards=await $.models(),this.host.requestUpdate()}get writer(){const t=O(this.cards??[]);return t.find(({id:s})=>s===this.chosen.writer)??t[0]}get outliner(){const t=_(this.cards??[],O(this.cards??[]));return t.find(({card:s})=>s.id===this.chosen.outliner)??t[0]}get isBusy(){return this.outlining!==null||this.drafts.size>0}get isStopped(){return this.stopping.signal.aborted}stop(){this.stopping.abort()}signal(){return this.stopping.signal.aborted&&(this.stopping=new AbortController),this.stopping.signal}async outline(t,s,i){const{outliner:n}=this;if(n===void 0)return ut(s);const o={seed:this.asked++,signal:this.signal()};this.show({outlining:[]});try{return n.isWriter?await dt($,n.card,i,o):await ft($,n.card.id,t,s,{...o,onLines:r=>this.show({outlining:r})})}finally{this.show({outlining:null})}}async write(t){const s=this.signal(),i=t.filter(({id:r})=>!this.drafts.has(r)),n=new Map(this.problems);for(const{id:r}of i)n.delete(r);this.show({drafts:new Map([...this.drafts,...i.map(({id:r})=>[r,null])]),problems:n});const o=async()=>{for(let r=i.shift();r!==void 0;r=i.shift())await this.do(r,s)};await Promise.all(Array.from({length:yt},o))}async do({id:t,name:s,prompt:i,card:n=this.writer,take:o},r){try{if(r.aborted||n===void 0)return;const l=m=>this.show({drafts:new Map([...this.drafts,[t,m]])}),c=await D($,n,i,{seed:this.asked++,signal:r,onView:l});o(c,n.id),C(`${s}: written.`)}catch(l){if(r.aborted)return;const c=j(l);this.show({problems:new Map([...this.problems,[t,c]])}),C(`${s}: not written. ${c}`)}finally{this.show({drafts:new Map([...this.drafts].filter(([l])=>l!==t))})}}show(t){Object.assign(this,t),this.host.requestUpdate()}choose(t){this.chosen={...this.chosen,...t},x(`${this.name}.models`,this.chosen),this.host.requestUpdate()}controls(t){if(this.cards===null)return w;const s=O(this.cards),i=(n,o,r,l)=>r.length<2?w:a`<label
            >${n}
            <select
              ?disabled=${this.isBusy}
              @change=${c=>l(c.target.value)}
            >
              ${r.map(c=>a`<option ?selected=${c===o}>${c}</option>`)}
            </select></label
          >`;return a`${i(t,this.outliner?.card.id??"",_(this.cards,s).map(({card:n})=>n.id),n=>this.choose({outliner:n}))}
    ${i("Text by",this.writer?.id??"",s.map(({id:n})=>n),n=>this.choose({writer:n}))}
    ${this.isBusy?a`<span class="figures">${this.drafts.size===0?"":`${this.drafts.size} to write`}</span>
            <button @click=${()=>this.stop()}>Stop</button>`:w}`}notice(){if(this.cards===null||this.writer!==void 0)return w;const t=this.cards.map(({id:s})=>s).join(", ");return a`<p class="notice card">
      None of this server's models can write prose (${t}). You can write everything yourself, or restart
      the server with a language model: <code>sfumato serve ui smollm2-135m-instruct</code>
    </p>`}}export{Ot as K,Lt as W,k as a,at as b,Ct as k,_t as l,nt as s,R as t};
