import{e as x,i as C,r as l,g as E,o as c,c as b,d as a,t as T,m as _,l as y,b as v,s as u,A as w,n as P,f as O}from"./index-iF5kxkqc.js";import{n as $,p as k,g as W,c as h}from"./steps-DYch-8T4.js";import{a as j,p as A,t as f,w as L,N as K,e as R}from"./screen-CDV6dfeF.js";import"./offsets-EgNy2a1f.js";import"./repeat-DxlbllGB.js";import"./canvas-DS9N_J7d.js";import"./take-CQINWBEi.js";var N=Object.defineProperty,M=Object.getOwnPropertyDescriptor,D=(t,e,s,r)=>{for(var i=r>1?void 0:r?M(e,s):e,d=t.length-1,p;d>=0;d--)(p=t[d])&&(i=(r?p(e,s,i):p(i))||i);return r&&i&&N(e,s,i),i};let m=class extends E{constructor(){super(...arguments),this.mode="idle",this.recorder=null}async begin(){if(this.mode==="idle"){this.mode="recording";try{const t=await navigator.mediaDevices.getUserMedia({audio:!0}),e=[];this.recorder=new MediaRecorder(t),this.recorder.addEventListener("dataavailable",({data:s})=>e.push(s)),this.recorder.addEventListener("stop",()=>{for(const s of t.getTracks())s.stop();this.read(new Blob(e,{type:this.recorder?.mimeType??""}))}),this.recorder.start(),this.mode==="idle"&&this.recorder.stop()}catch{this.mode="idle",c(new Error("the browser gives no microphone; allow it, or type"))}}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(t){this.mode="reading";const e=new FormData;e.append("file",t,"command.webm"),e.append("model","speech");try{const{text:s}=await b.json("POST","/v1/audio/transcriptions",e);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){c(s)}finally{this.mode="idle"}}render(){const t={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return a`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @keydown=${e=>e.key===" "&&!e.repeat&&void this.begin()}
      @keyup=${e=>e.key===" "&&this.end()}
    >
      ${t}
    </button>`}};m.styles=[x,C`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];D([l()],m.prototype,"mode",2);m=D([T("sf-talk")],m);var U=Object.defineProperty,z=Object.getOwnPropertyDescriptor,n=(t,e,s,r)=>{for(var i=r>1?void 0:r?z(e,s):e,d=t.length-1,p;d>=0;d--)(p=t[d])&&(i=(r?p(e,s,i):p(i))||i);return r&&i&&U(e,s,i),i};const S="a to-do list with ten items about moving house, four done",F=[S,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],H=["sort by name","dark mode","add a priority","delete the second","tick off the first one"],g="todo.page";let o=class extends E{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.steps=$(),this.draft=null,this.isWriting=!1,this.sentence="",this.stopping=new AbortController,this.asked=0,this.onKey=t=>{const e=t.composedPath().some(s=>s instanceof HTMLInputElement&&s.type!=="checkbox");(t.ctrlKey||t.metaKey)&&t.key.toLowerCase()==="z"&&!e?(t.preventDefault(),this.move(t.shiftKey?1:-1)):t.key==="/"&&!e&&(t.preventDefault(),this.input.focus())}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.begin().catch(c)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),this.stopping.abort()}async begin(){this.cards=j(await b.models()),this.model=this.cards[0]?.id??"";const t=_(g,"");if(t!=="")try{this.steps=k(this.steps,{page:A(t),said:"as it was left",ms:null})}catch{y(g,"")}}move(t){const e=this.steps.at;this.steps=W(this.steps,t),this.keep(),this.steps.at!==e&&v(t<0?"Undone.":"Done again.")}keep(){const t=h(this.steps);y(g,t===void 0?"":f(t.page))}show(t,e,s){this.steps=k(this.steps,{page:t,said:e,ms:s}),this.keep()}async command(t){const e=t.trim();if(e===""||this.isWriting||this.model==="")return;this.isWriting=!0,this.stopping=new AbortController;const s=h(this.steps)?.page??null;try{const r=await L(b,this.model,e,{page:s,seed:this.asked++,signal:this.stopping.signal,onDraft:i=>this.draft=i});s!==null&&f(r.page)===f(s)?u("It is like that already."):this.show(r.page,e,r.ms),this.sentence="",v("Changed.")}catch(r){r instanceof K?u(r.message):this.stopping.signal.aborted||c(r)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:t}){const e=h(this.steps)?.page;if(e!==void 0&&(t.say!==void 0&&u(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{this.show(R(e,t.program),t.program.split(`
`).join("; "),0)}catch(s){c(s)}}startAgain(){this.steps=$(),this.keep(),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return a`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model of this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const t=h(this.steps);return a`<div class="page">
      <h1>To-do</h1>
      <form
        @submit=${e=>{e.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${t===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${t===void 0?S:"sort by name"}
            .value=${this.sentence}
            @input=${e=>this.sentence=e.target.value}
        /></label>
        ${this.isWriting?a`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:a`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          @sf-heard=${({detail:e})=>{this.sentence=e,this.command(e)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${(t===void 0?F:H).map(e=>a`<button ?disabled=${this.isWriting} @click=${()=>this.command(e)}>${e}</button>`)}
      </div>
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${t===void 0&&this.draft===null?a`<p class="empty muted">
                Nothing here yet. The first sentence makes the app; each further one changes it, and its
                buttons do what they say.
              </p>`:a`<sf-screen
                .page=${this.draft??t?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${e=>this.onEffect(e)}
              ></sf-screen>`}
      </div>
      ${t===void 0?w:this.history(t)}
    </div>`}history(t){const{all:e,at:s}=this.steps;return a`<div class="row bar">
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
        <summary>What was said and done</summary>
        <ol>
          ${e.map(({said:r},i)=>a`<li>
                <button
                  class="quiet"
                  aria-current=${i===s?"step":w}
                  @click=${()=>this.move(i-s)}
                >
                  ${r}
                </button>
              </li>`)}
        </ol>
      </details>`}};o.styles=[x,C`
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
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `];n([P()],o.prototype,"place",2);n([l()],o.prototype,"cards",2);n([l()],o.prototype,"model",2);n([l()],o.prototype,"steps",2);n([l()],o.prototype,"draft",2);n([l()],o.prototype,"isWriting",2);n([l()],o.prototype,"sentence",2);n([O("#command")],o.prototype,"input",2);o=n([T("sf-todo-page")],o);export{o as TodoPage};
