import{e as D,i as A,p as M,s as u,g as _,z as b,c as P,d as l,D as W,w as U,m as j,b as w,G as K,v as I,y as m,A as y,f as F}from"./index-Onwf7JxZ.js";import{M as H}from"./models-BXly799R.js";import{s as z}from"./start-stop-CESrZ6Yq.js";import{b as q,i as G,c as X,a as Z}from"./keys-CktASOOz.js";import{g as L,p as B,c as p,n as N}from"./steps-Bb5mR1ze.js";import{w as R,v as J,g as x,i as Q,t as f,b as Y,c as S,d as V,o as tt,U as et,N as st,P as C,e as it,h as ot,p as rt,M as nt}from"./screen-WbDPf852.js";import"./answer-DNglTIBU.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-R79uc_On.js";import"./live-DvqIMySp.js";import"./repeat-DjvGqA7y.js";import"./focus-BpYcMQ1a.js";var at=Object.defineProperty,ht=Object.getOwnPropertyDescriptor,k=(t,e,s,o)=>{for(var i=o>1?void 0:o?ht(e,s):e,r=t.length-1,n;r>=0;r--)(n=t[r])&&(i=(o?n(e,s,i):n(i))||i);return o&&i&&at(e,s,i),i};let g=class extends _{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const t=++this.presses;try{const e=await navigator.mediaDevices.getUserMedia({audio:!0});if(t!==this.presses||this.mode!=="recording"||!this.isConnected){for(const o of e.getTracks())o.stop();return}const s=[];this.recorder=new MediaRecorder(e),this.recorder.addEventListener("dataavailable",({data:o})=>s.push(o)),this.recorder.addEventListener("stop",()=>{for(const o of e.getTracks())o.stop();this.read(new Blob(s,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",b(new Error("No microphone: connect one and allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(t){this.mode="reading";const e=new FormData;e.append("file",t,"command.webm"),e.append("model","whisper-1"),e.append("language","en"),this.hint!==""&&e.append("prompt",this.hint);try{const{text:s}=await P.json("POST","/v1/audio/transcriptions",e);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){b(s)}finally{this.mode="idle"}}render(){const t={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return l`<button
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
    </button>`}};g.styles=[D,A`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];k([M()],g.prototype,"hint",2);k([u()],g.prototype,"mode",2);g=k([W("sf-talk")],g);function lt(t){const e=[...R(t)],[s]=e.filter(({kind:a,children:v})=>(a==="list"||a==="table")&&v.length>0),o=J(s?.children??[]),i=o.filter(({kind:a})=>a==="checkbox"),r=a=>x(a,"on")===void 0,n=s?.kind==="table"?s.cells[0]?.toLowerCase():"name",d=e.find(({kind:a})=>a==="button");return[...o.length>1?[`sort by ${n??"name"}`]:[],x(t,"theme")==="dark"?"light mode":"dark mode",...i.some(r)&&!i.every(r)?["show only the open ones"]:[],...o.length>1?["delete the second"]:[],...i[0]!==void 0&&r(i[0])?["tick off the first one"]:[],...s===void 0&&d!==void 0?[`rename ${d.text} to Ready`,`make the ${d.text} button green`]:[]]}var dt=Object.defineProperty,ct=Object.getOwnPropertyDescriptor,c=(t,e,s,o)=>{for(var i=o>1?void 0:o?ct(e,s):e,r=t.length-1,n;r>=0;r--)(n=t[r])&&(i=(o?n(e,s,i):n(i))||i);return o&&i&&dt(e,s,i),i};const pt="a to-do list with ten items about moving house, four done",mt=[pt,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],$="todo.steps",T=20,ut=600;function E(t){try{const{all:e,at:s}=t,o=e.map(({page:i,said:r,ms:n})=>({page:rt(i),said:r,ms:n}));return L({all:o,at:s},0)}catch{return N()}}function O(t){return t===void 0?mt:lt(t.page)}let h=class extends _{constructor(){super(...arguments),this.place="",this.models=new H(this,Q),this.steps=E(U($,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.elsewhere=null,this.stopping=new AbortController,this.retract=()=>{},this.asked=0,this.onStorage=({key:t,newValue:e})=>{t!==j($)||e===null||(this.elsewhere=e,w("Another tab changed this app."))},this.onKey=t=>{const e=q(t);e===0&&!G(t)||(t.preventDefault(),e===0?this.input?.focus():this.move(e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("storage",this.onStorage)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("storage",this.onStorage),this.stopping.abort()}takeOver(t){this.steps=E(JSON.parse(t)),this.elsewhere=null,w("This is what the other tab shows.")}move(t){const e=this.steps.at;this.steps=L(this.steps,t),this.steps.at!==e&&(this.retract(),this.keep()),t!==0&&K(t,this.steps.at!==e)}keep(){this.elsewhere=null;const{all:t,at:e}=this.steps,s=Math.max(0,Math.min(e,t.length-T)),o=t.slice(s,s+T).map(i=>({...i,page:f(i.page)}));I($,{all:o,at:e-s})}show(t,e,s){this.steps=B(this.steps,{page:t,said:e,ms:s}),this.keep()}showSaid(t,e,s){const o=p(this.steps)?.page;if(this.show(t,e,s),o===void 0){const n=-Math.min(0,Y(t,e)??0);n>0?m(`The model wrote ${n} fewer than you asked for.`):w("Done.");return}const i=S(o,t)||"changed",r=()=>{const{all:n,at:d}=this.steps,a=n.findIndex(v=>v.page===t);a>0&&a<=d&&this.move(a-1-d)};this.retract=m(`${i.charAt(0).toUpperCase()}${i.slice(1)}.`,{label:"Undo",run:r})}async command(t){const e=t.trim();if(e===""||this.isWriting)return;const s=X(e);if(s!==0&&p(this.steps)!==void 0){this.sentence="",this.move(s);return}if(Z(e)&&p(this.steps)!==void 0){this.startAgain();return}this.isWriting=!0,this.stopping=new AbortController;const o=p(this.steps)?.page??null;try{await this.models.load();const i=this.models.cards?.[0];if(i===void 0)return;const r=await V(P,i.id,e,{page:o,seed:this.asked++,signal:this.stopping.signal,onDraft:d=>this.draft=d});this.sentence="";const n=tt(p(this.steps)?.page??null,o,r);o!==null&&f(r.page)===f(o)?m(et):this.showSaid(n,e,r.ms)}catch(i){i instanceof st||i instanceof C?m(i.message):this.stopping.signal.aborted||b(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:t}){const e=p(this.steps)?.page;if(e!==void 0&&(t.say!==void 0&&m(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{const s=it(e,t.program);f(s)!==f(e)&&this.show(s,S(e,s)||"changed",null)}catch(s){b(s instanceof C?nt:s)}}hint(t){const e=t===void 0?[]:[...R(t.page)].flatMap(({text:o,cells:i})=>[o,...i]);return[...O(t),...e.filter(o=>o!=="")].join(". ").slice(0,ut)}startAgain(){this.stopping.abort();const t=this.steps;this.steps=N(),this.keep(),m("Cleared.",{label:"Undo",run:()=>{this.steps=t,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.models.cards?.length===0)return l`<div class="page">
        <h1>To-do</h1>
        ${this.models.notice("No model on this server writes screens; start it with one: sfumato serve ui")}
      </div>`;const t=p(this.steps),e=O(t);return l`<div class="page">
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
        ${e.map(s=>l`<button ?disabled=${this.isWriting} @click=${()=>this.command(s)}>${s}</button>`)}
      </div>
      ${this.elsewhere===null?y:this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${t===void 0&&this.draft===null?l`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:l`<sf-screen
                .page=${this.draft??t?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${s=>this.onEffect(s)}
              ></sf-screen>`}
      </div>
      ${t===void 0?y:this.history(t)}
    </div>`}other(t){return l`<div class="card row">
      <span>Another tab changed this app; what is changed here next replaces that.</span>
      <button @click=${()=>this.takeOver(t)}>Show the other one</button>
      <button @click=${()=>this.keep()}>Keep this one</button>
    </div>`}history(t){const{all:e,at:s}=this.steps;return l`<div class="row bar">
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
          ${ot(e).map(({said:o,first:i,last:r})=>l`<li>
                <button
                  class="quiet"
                  aria-current=${i<=s&&s<=r?"step":y}
                  @click=${()=>this.move(r-s)}
                >
                  ${o}
                </button>
              </li>`)}
        </ol>
      </details>`}};h.styles=[D,A`
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
    `];c([M()],h.prototype,"place",2);c([u()],h.prototype,"steps",2);c([u()],h.prototype,"draft",2);c([u()],h.prototype,"isWriting",2);c([u()],h.prototype,"sentence",2);c([u()],h.prototype,"elsewhere",2);c([F("#command")],h.prototype,"input",2);h=c([W("sf-todo-page")],h);export{h as TodoPage};
