import{e as D,i as A,p as M,s as u,g as _,z as v,c as P,d,D as W,w as U,m as j,b as w,G as K,v as I,y as m,A as y,f as F}from"./index-Bm7Pq4C6.js";import{M as H}from"./models-BwJp57lx.js";import{s as z}from"./start-stop-BPcyioFh.js";import{b as q,i as G,c as X,a as Z}from"./keys-CZ-tQu_d.js";import{g as L,p as B,c as p,n as N}from"./steps-Bb5mR1ze.js";import{w as R,v as J,g as x,i as Q,t as g,b as Y,c as S,d as V,o as tt,U as et,N as st,P as T,e as it,h as ot,p as rt,M as nt}from"./screen-CxLTDyFu.js";import"./answer-S6R71WQi.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-R79uc_On.js";import"./live-DxYlqhgM.js";import"./repeat-yvJ6A4f6.js";import"./focus-BpYcMQ1a.js";var at=Object.defineProperty,ht=Object.getOwnPropertyDescriptor,k=(t,e,s,i)=>{for(var o=i>1?void 0:i?ht(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&at(e,s,o),o};let b=class extends _{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const t=++this.presses;try{const e=await navigator.mediaDevices.getUserMedia({audio:!0});if(t!==this.presses||this.mode!=="recording"||!this.isConnected){for(const i of e.getTracks())i.stop();return}const s=[];this.recorder=new MediaRecorder(e),this.recorder.addEventListener("dataavailable",({data:i})=>s.push(i)),this.recorder.addEventListener("stop",()=>{for(const i of e.getTracks())i.stop();this.read(new Blob(s,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",v(new Error("No microphone: connect one and allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(t){this.mode="reading";const e=new FormData;e.append("file",t,"command.webm"),e.append("model","whisper-1"),e.append("language","en"),this.hint!==""&&e.append("prompt",this.hint);try{const{text:s}=await P.json("POST","/v1/audio/transcriptions",e);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){v(s)}finally{this.mode="idle"}}render(){const t={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return d`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @blur=${()=>this.end()}
      @keydown=${e=>e.key===" "&&!e.repeat&&void this.begin()}
      @keyup=${e=>e.key===" "&&this.end()}
    >
      ${t}
    </button>`}};b.styles=[D,A`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];k([M()],b.prototype,"hint",2);k([u()],b.prototype,"mode",2);b=k([W("sf-talk")],b);function lt(t){const e=[...R(t)],[s]=e.filter(({kind:a,children:f})=>(a==="list"||a==="table")&&f.length>0),i=J(s?.children??[]),o=i.filter(({kind:a})=>a==="checkbox"),n=a=>x(a,"on")===void 0,r=s?.kind==="table"?s.cells[0]?.toLowerCase():"name",h=e.find(({kind:a})=>a==="button");return[...i.length>1?[`sort by ${r??"name"}`]:[],x(t,"theme")==="dark"?"light mode":"dark mode",...o.some(n)&&!o.every(n)?["show only the open ones"]:[],...i.length>1?["delete the second"]:[],...o[0]!==void 0&&n(o[0])?["tick off the first one"]:[],...s===void 0&&h!==void 0?[`rename ${h.text} to Ready`,`make the ${h.text} button green`]:[]]}var dt=Object.defineProperty,ct=Object.getOwnPropertyDescriptor,c=(t,e,s,i)=>{for(var o=i>1?void 0:i?ct(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&dt(e,s,o),o};const pt="a to-do list with ten items about moving house, four done",mt=[pt,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],$="todo.steps",C=20,ut=600;function E(t){try{const{all:e,at:s}=t,i=e.map(({page:o,said:n,ms:r})=>({page:rt(o),said:n,ms:r}));return L({all:i,at:s},0)}catch{return N()}}function O(t){return t===void 0?mt:lt(t.page)}let l=class extends _{constructor(){super(...arguments),this.place="",this.models=new H(this,Q),this.steps=E(U($,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.elsewhere=null,this.stopping=new AbortController,this.retract=()=>{},this.asked=0,this.onStorage=({key:t,newValue:e})=>{t!==j($)||e===null||(this.elsewhere=e,w("Another tab changed this app."))},this.onKey=t=>{const e=q(t);e===0&&!G(t)||(t.preventDefault(),e===0?this.input?.focus():this.move(e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("storage",this.onStorage)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("storage",this.onStorage),this.stopping.abort()}takeOver(t){this.steps=E(JSON.parse(t)),this.elsewhere=null,w("This is what the other tab shows.")}move(t){const e=this.steps.at;this.steps=L(this.steps,t),this.steps.at!==e&&(this.retract(),this.keep()),t!==0&&K(t,this.steps.at!==e)}keep(){this.elsewhere=null;const{all:t,at:e}=this.steps,s=Math.max(0,Math.min(e,t.length-C)),i=t.slice(s,s+C).map(o=>({...o,page:g(o.page)}));I($,{all:i,at:e-s})}show(t,e,s){this.steps=B(this.steps,{page:t,said:e,ms:s}),this.keep()}showSaid(t,e,s){const i=p(this.steps)?.page;if(this.show(t,e,s),i===void 0){const r=-Math.min(0,Y(t,e)??0);r>0?m(`The model wrote ${r} fewer than you asked for.`):w("Done.");return}const o=S(i,t)||"changed",n=()=>{const{all:r,at:h}=this.steps,a=r.findIndex(f=>f.page===t);a>0&&a<=h&&this.move(a-1-h)};this.retract=m(`${o.charAt(0).toUpperCase()}${o.slice(1)}.`,{label:"Undo",run:n})}async command(t){const e=t.trim();if(e===""||this.isWriting)return;const s=X(e);if(s!==0&&p(this.steps)!==void 0){this.sentence="",this.move(s);return}if(Z(e)&&p(this.steps)!==void 0){this.startAgain();return}const i=this.sentence.trim()===e;i&&(this.sentence="");let o=!1;this.isWriting=!0,this.stopping=new AbortController;const n=p(this.steps)?.page??null;try{await this.models.load();const r=this.models.cards?.[0];if(r===void 0)return;const h=await V(P,r.id,e,{page:n,seed:this.asked++,signal:this.stopping.signal,onDraft:f=>this.draft=f});o=!0;const a=tt(p(this.steps)?.page??null,n,h);n!==null&&g(h.page)===g(n)?m(et):this.showSaid(a,e,h.ms)}catch(r){r instanceof st||r instanceof T?m(r.message):this.stopping.signal.aborted||v(r)}finally{this.isWriting=!1,this.draft=null,i&&!o&&this.sentence===""&&(this.sentence=e)}}onEffect({detail:t}){const e=p(this.steps)?.page;if(e!==void 0&&(t.say!==void 0&&m(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{const s=it(e,t.program);g(s)!==g(e)&&this.show(s,S(e,s)||"changed",null)}catch(s){v(s instanceof T?nt:s)}}hint(t){const e=t===void 0?[]:[...R(t.page)].flatMap(({text:i,cells:o})=>[i,...o]);return[...O(t),...e.filter(i=>i!=="")].join(". ").slice(0,ut)}startAgain(){this.stopping.abort();const t=this.steps;this.steps=N(),this.keep(),m("Cleared.",{label:"Undo",run:()=>{this.steps=t,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.models.cards?.length===0)return d`<div class="page">
        <h1>To-do</h1>
        ${this.models.notice("No model on this server writes screens; start it with one: sfumato serve ui")}
      </div>`;const t=p(this.steps),e=O(t);return d`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${s=>{s.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${t===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${e[0]??""}
            .value=${this.sentence}
            @input=${s=>this.sentence=s.target.value}
        /></label>
        ${z({label:"Do it",isRunning:this.isWriting,canStart:this.sentence.trim()!=="",stop:()=>this.stopping.abort()})}
        <sf-talk
          .hint=${this.hint(t)}
          @sf-heard=${({detail:s})=>{this.sentence=s,this.command(s)}}
        ></sf-talk>
      </form>
      ${this.models.failure()}
      <div class="chips" aria-label="Examples" role="group">
        ${e.map(s=>d`<button ?disabled=${this.isWriting} @click=${()=>this.command(s)}>${s}</button>`)}
      </div>
      ${this.elsewhere===null?y:this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${t===void 0&&this.draft===null?d`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:d`<sf-screen
                .page=${this.draft??t?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${s=>this.onEffect(s)}
              ></sf-screen>`}
      </div>
      ${t===void 0?y:this.history(t)}
    </div>`}other(t){return d`<div class="card row">
      <span>Another tab changed this app; what is changed here next replaces that.</span>
      <button @click=${()=>this.takeOver(t)}>Show the other one</button>
      <button @click=${()=>this.keep()}>Keep this one</button>
    </div>`}history(t){const{all:e,at:s}=this.steps;return d`<div class="row bar">
        <span class="row">
          <button ?disabled=${s<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
          <button ?disabled=${s>=e.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${()=>this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${t.ms===null?"":`${Math.round(t.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${ot(e).map(({said:i,first:o,last:n})=>d`<li>
                <button
                  class="quiet"
                  aria-current=${o<=s&&s<=n?"step":y}
                  @click=${()=>this.move(n-s)}
                >
                  ${i}
                </button>
              </li>`)}
        </ol>
      </details>`}};l.styles=[D,A`
      .page {
        display: grid;
        gap: 0.9rem;
        grid-template-columns: minmax(0, 1fr);
        max-width: 52rem;
        margin-inline: auto;
      }
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 16rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .chips button {
        border-radius: 999px;
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
      }
      .screen {
        display: grid;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        min-height: 12rem;
        background: var(--surface);
      }
      .empty {
        display: grid;
        place-items: center;
        min-height: 12rem;
        padding: 1rem;
        text-align: center;
      }
      .bar {
        justify-content: space-between;
      }
      ol {
        margin: 0;
        padding-left: 1.4rem;
        font-size: 0.875rem;
      }
      ol button {
        padding: 0.1rem 0.4rem;
        vertical-align: top;
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `];c([M()],l.prototype,"place",2);c([u()],l.prototype,"steps",2);c([u()],l.prototype,"draft",2);c([u()],l.prototype,"isWriting",2);c([u()],l.prototype,"sentence",2);c([u()],l.prototype,"elsewhere",2);c([F("#command")],l.prototype,"input",2);l=c([W("sf-todo-page")],l);export{l as TodoPage};
