import{e as E,i as T,n as S,r as l,g as _,u as h,c as b,d as a,w as O,s as j,q as y,b as w,t as u,A as $,f as A}from"./index-CFGkdXnh.js";import{u as W,i as R}from"./keys-DoTgPSuZ.js";import{n as k,p as x,g as K,c as m}from"./steps-mb0g5HZU.js";import{a as L,p as M,t as f,b as N,N as H,e as U,w as q}from"./screen-CHxAO4p3.js";import"./answer-MzEQvapD.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-HVrPoybX.js";import"./live-BDMCXvDo.js";import"./repeat-CFZesEuk.js";var F=Object.defineProperty,I=Object.getOwnPropertyDescriptor,v=(e,t,s,i)=>{for(var r=i>1?void 0:i?I(t,s):t,d=e.length-1,p;d>=0;d--)(p=e[d])&&(r=(i?p(t,s,r):p(r))||r);return i&&r&&F(t,s,r),r};let c=class extends _{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null}async begin(){if(this.mode==="idle"){this.mode="recording";try{const e=await navigator.mediaDevices.getUserMedia({audio:!0}),t=[];this.recorder=new MediaRecorder(e),this.recorder.addEventListener("dataavailable",({data:s})=>t.push(s)),this.recorder.addEventListener("stop",()=>{for(const s of e.getTracks())s.stop();this.read(new Blob(t,{type:this.recorder?.mimeType??""}))}),this.recorder.start(),this.mode==="idle"&&this.recorder.stop()}catch{this.mode="idle",h(new Error("the browser gives no microphone; allow it, or type"))}}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(e){this.mode="reading";const t=new FormData;t.append("file",e,"command.webm"),t.append("model","whisper-1"),t.append("language","en"),this.hint!==""&&t.append("prompt",this.hint);try{const{text:s}=await b.json("POST","/v1/audio/transcriptions",t);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){h(s)}finally{this.mode="idle"}}render(){const e={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return a`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @keydown=${t=>t.key===" "&&!t.repeat&&void this.begin()}
      @keyup=${t=>t.key===" "&&this.end()}
    >
      ${e}
    </button>`}};c.styles=[E,T`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];v([S()],c.prototype,"hint",2);v([l()],c.prototype,"mode",2);c=v([O("sf-talk")],c);var z=Object.defineProperty,Z=Object.getOwnPropertyDescriptor,n=(e,t,s,i)=>{for(var r=i>1?void 0:i?Z(t,s):t,d=e.length-1,p;d>=0;d--)(p=e[d])&&(r=(i?p(t,s,r):p(r))||r);return i&&r&&z(t,s,r),r};const P="a to-do list with ten items about moving house, four done",C=[P,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],D=["sort by name","dark mode","show only the open ones","delete the second","tick off the first one"],g="todo.page",B=600;let o=class extends _{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.steps=k(),this.draft=null,this.isWriting=!1,this.sentence="",this.stopping=new AbortController,this.asked=0,this.onKey=e=>{const t=W(e);t===0&&!R(e)||(e.preventDefault(),t===0?this.input.focus():this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.begin().catch(h)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),this.stopping.abort()}async begin(){this.cards=L(await b.models()),this.model=this.cards[0]?.id??"";const e=j(g,"");if(e!=="")try{this.steps=x(this.steps,{page:M(e),said:"as it was left",ms:null})}catch{y(g,"")}}move(e){const t=this.steps.at;this.steps=K(this.steps,e),this.keep(),this.steps.at!==t&&w(e<0?"Undone.":"Done again.")}keep(){const e=m(this.steps);y(g,e===void 0?"":f(e.page))}show(e,t,s){this.steps=x(this.steps,{page:e,said:t,ms:s}),this.keep()}async command(e){const t=e.trim();if(t===""||this.isWriting||this.model==="")return;this.isWriting=!0,this.stopping=new AbortController;const s=m(this.steps)?.page??null;try{const i=await N(b,this.model,t,{page:s,seed:this.asked++,signal:this.stopping.signal,onDraft:r=>this.draft=r});s!==null&&f(i.page)===f(s)?u("It already looks like that."):this.show(i.page,t,i.ms),this.sentence="",w("Changed.")}catch(i){i instanceof H?u(i.message):this.stopping.signal.aborted||h(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:e}){const t=m(this.steps)?.page;if(t!==void 0&&(e.say!==void 0&&u(e.say),e.ask!==void 0&&this.command(e.ask),!(e.program===void 0||e.program==="")))try{this.show(U(t,e.program),e.program.split(`
`).join("; "),0)}catch(s){h(s)}}hint(e){const t=e===void 0?[]:[...q(e.page)].flatMap(({text:i,cells:r})=>[i,...r]);return[...e===void 0?C:D,...t.filter(i=>i!=="")].join(". ").slice(0,B)}startAgain(){this.steps=k(),this.keep(),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return a`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model on this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const e=m(this.steps);return a`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${t=>{t.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${e===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${e===void 0?P:"sort by name"}
            .value=${this.sentence}
            @input=${t=>this.sentence=t.target.value}
        /></label>
        ${this.isWriting?a`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:a`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(e)}
          @sf-heard=${({detail:t})=>{this.sentence=t,this.command(t)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${(e===void 0?C:D).map(t=>a`<button ?disabled=${this.isWriting} @click=${()=>this.command(t)}>${t}</button>`)}
      </div>
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${e===void 0&&this.draft===null?a`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:a`<sf-screen
                .page=${this.draft??e?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${t=>this.onEffect(t)}
              ></sf-screen>`}
      </div>
      ${e===void 0?$:this.history(e)}
    </div>`}history(e){const{all:t,at:s}=this.steps;return a`<div class="row bar">
        <span class="row">
          <button ?disabled=${s<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
          <button ?disabled=${s>=t.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${()=>this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${e.ms===null?"":`${Math.round(e.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${t.map(({said:i},r)=>a`<li>
                <button
                  class="quiet"
                  aria-current=${r===s?"step":$}
                  @click=${()=>this.move(r-s)}
                >
                  ${i}
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
    `];n([S()],o.prototype,"place",2);n([l()],o.prototype,"cards",2);n([l()],o.prototype,"model",2);n([l()],o.prototype,"steps",2);n([l()],o.prototype,"draft",2);n([l()],o.prototype,"isWriting",2);n([l()],o.prototype,"sentence",2);n([A("#command")],o.prototype,"input",2);o=n([O("sf-todo-page")],o);export{o as TodoPage};
