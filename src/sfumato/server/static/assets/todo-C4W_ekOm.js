import{e as E,i as T,n as S,r as h,g as _,u as c,c as b,d as a,w as O,s as A,q as y,b as w,t as u,A as $,f as W}from"./index-D3DMD1ov.js";import{u as j,i as N,a as R}from"./keys-Bvww4gEl.js";import{n as k,p as x,g as U,c as l}from"./steps-mb0g5HZU.js";import{a as H,p as K,t as f,b as L,U as M,N as q,e as F,w as z}from"./screen-DsgZYpIx.js";import"./answer-Ckmk9QYh.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-HVrPoybX.js";import"./live-0829sf-E.js";import"./repeat-CUnBZ19t.js";var G=Object.defineProperty,I=Object.getOwnPropertyDescriptor,v=(t,e,s,r)=>{for(var i=r>1?void 0:r?I(e,s):e,n=t.length-1,p;n>=0;n--)(p=t[n])&&(i=(r?p(e,s,i):p(i))||i);return r&&i&&G(e,s,i),i};let m=class extends _{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null}async begin(){if(this.mode==="idle"){this.mode="recording";try{const t=await navigator.mediaDevices.getUserMedia({audio:!0}),e=[];this.recorder=new MediaRecorder(t),this.recorder.addEventListener("dataavailable",({data:s})=>e.push(s)),this.recorder.addEventListener("stop",()=>{for(const s of t.getTracks())s.stop();this.read(new Blob(e,{type:this.recorder?.mimeType??""}))}),this.recorder.start(),this.mode==="idle"&&this.recorder.stop()}catch{this.mode="idle",c(new Error("the browser gives no microphone; allow it, or type"))}}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(t){this.mode="reading";const e=new FormData;e.append("file",t,"command.webm"),e.append("model","whisper-1"),e.append("language","en"),this.hint!==""&&e.append("prompt",this.hint);try{const{text:s}=await b.json("POST","/v1/audio/transcriptions",e);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){c(s)}finally{this.mode="idle"}}render(){const t={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return a`<button
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
    </button>`}};m.styles=[E,T`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];v([S()],m.prototype,"hint",2);v([h()],m.prototype,"mode",2);m=v([O("sf-talk")],m);var Z=Object.defineProperty,B=Object.getOwnPropertyDescriptor,d=(t,e,s,r)=>{for(var i=r>1?void 0:r?B(e,s):e,n=t.length-1,p;n>=0;n--)(p=t[n])&&(i=(r?p(e,s,i):p(i))||i);return r&&i&&Z(e,s,i),i};const P="a to-do list with ten items about moving house, four done",C=[P,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],D=["sort by name","dark mode","show only the open ones","delete the second","tick off the first one"],g="todo.page",X=600;let o=class extends _{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.steps=k(),this.draft=null,this.isWriting=!1,this.sentence="",this.stopping=new AbortController,this.asked=0,this.onKey=t=>{const e=j(t);e===0&&!N(t)||(t.preventDefault(),e===0?this.input.focus():this.move(e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.begin().catch(c)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),this.stopping.abort()}async begin(){this.cards=H(await b.models()),this.model=this.cards[0]?.id??"";const t=A(g,"");if(t!=="")try{this.steps=x(this.steps,{page:K(t),said:"as it was left",ms:null})}catch{y(g,"")}}move(t){const e=this.steps.at;this.steps=U(this.steps,t),this.keep(),this.steps.at!==e?w(t<0?"Undone.":"Done again."):t!==0&&u(`There is nothing to ${t<0?"undo":"redo"}.`)}keep(){const t=l(this.steps);y(g,t===void 0?"":f(t.page))}show(t,e,s){this.steps=x(this.steps,{page:t,said:e,ms:s}),this.keep()}async command(t){const e=t.trim();if(e===""||this.isWriting||this.model==="")return;const s=R(e);if(s!==0&&l(this.steps)!==void 0){this.sentence="",this.move(s);return}this.isWriting=!0,this.stopping=new AbortController;const r=l(this.steps)?.page??null;try{const i=await L(b,this.model,e,{page:r,seed:this.asked++,signal:this.stopping.signal,onDraft:n=>this.draft=n});this.sentence="",r!==null&&f(i.page)===f(r)?u(M):(this.show(i.page,e,i.ms),w("Changed."))}catch(i){i instanceof q?u(i.message):this.stopping.signal.aborted||c(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:t}){const e=l(this.steps)?.page;if(e!==void 0&&(t.say!==void 0&&u(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{this.show(F(e,t.program),t.program.split(`
`).join("; "),0)}catch(s){c(s)}}hint(t){const e=t===void 0?[]:[...z(t.page)].flatMap(({text:r,cells:i})=>[r,...i]);return[...t===void 0?C:D,...e.filter(r=>r!=="")].join(". ").slice(0,X)}startAgain(){this.steps=k(),this.keep(),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return a`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model on this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const t=l(this.steps);return a`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${e=>{e.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${t===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${t===void 0?P:"sort by name"}
            .value=${this.sentence}
            @input=${e=>this.sentence=e.target.value}
        /></label>
        ${this.isWriting?a`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:a`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(t)}
          @sf-heard=${({detail:e})=>{this.sentence=e,this.command(e)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${(t===void 0?C:D).map(e=>a`<button ?disabled=${this.isWriting} @click=${()=>this.command(e)}>${e}</button>`)}
      </div>
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${t===void 0&&this.draft===null?a`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:a`<sf-screen
                .page=${this.draft??t?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${e=>this.onEffect(e)}
              ></sf-screen>`}
      </div>
      ${t===void 0?$:this.history(t)}
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
        <summary>History of changes</summary>
        <ol>
          ${e.map(({said:r},i)=>a`<li>
                <button
                  class="quiet"
                  aria-current=${i===s?"step":$}
                  @click=${()=>this.move(i-s)}
                >
                  ${r}
                </button>
              </li>`)}
        </ol>
      </details>`}};o.styles=[E,T`
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
    `];d([S()],o.prototype,"place",2);d([h()],o.prototype,"cards",2);d([h()],o.prototype,"model",2);d([h()],o.prototype,"steps",2);d([h()],o.prototype,"draft",2);d([h()],o.prototype,"isWriting",2);d([h()],o.prototype,"sentence",2);d([W("#command")],o.prototype,"input",2);o=d([O("sf-todo-page")],o);export{o as TodoPage};
