import{e as E,i as C,n as D,r as l,g as S,u as c,c as g,d as n,w as _,s as O,b as y,t as h,q as W,A as w,f as j}from"./index-Cn2wWMcQ.js";import{u as M,i as N,a as U}from"./keys-Bvww4gEl.js";import{n as b,g as P,p as K,c as u}from"./steps-mb0g5HZU.js";import{a as R,t as f,b as H,U as L,N as q,e as F,w as z,p as G}from"./screen-DO2k-6sW.js";import"./answer-BAxpKePh.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-HVrPoybX.js";import"./live-E0iFETkp.js";import"./repeat-Dqy8OoJE.js";var I=Object.defineProperty,X=Object.getOwnPropertyDescriptor,v=(e,t,s,r)=>{for(var i=r>1?void 0:r?X(t,s):t,o=e.length-1,d;o>=0;o--)(d=e[o])&&(i=(r?d(t,s,i):d(i))||i);return r&&i&&I(t,s,i),i};let m=class extends S{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null}async begin(){if(this.mode==="idle"){this.mode="recording";try{const e=await navigator.mediaDevices.getUserMedia({audio:!0}),t=[];this.recorder=new MediaRecorder(e),this.recorder.addEventListener("dataavailable",({data:s})=>t.push(s)),this.recorder.addEventListener("stop",()=>{for(const s of e.getTracks())s.stop();this.read(new Blob(t,{type:this.recorder?.mimeType??""}))}),this.recorder.start(),this.mode==="idle"&&this.recorder.stop()}catch{this.mode="idle",c(new Error("No microphone: allow it in the browser, or type"))}}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(e){this.mode="reading";const t=new FormData;t.append("file",e,"command.webm"),t.append("model","whisper-1"),t.append("language","en"),this.hint!==""&&t.append("prompt",this.hint);try{const{text:s}=await g.json("POST","/v1/audio/transcriptions",t);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){c(s)}finally{this.mode="idle"}}render(){const e={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return n`<button
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
    </button>`}};m.styles=[E,C`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];v([D()],m.prototype,"hint",2);v([l()],m.prototype,"mode",2);m=v([_("sf-talk")],m);var Z=Object.defineProperty,B=Object.getOwnPropertyDescriptor,p=(e,t,s,r)=>{for(var i=r>1?void 0:r?B(t,s):t,o=e.length-1,d;o>=0;o--)(d=e[o])&&(i=(r?d(t,s,i):d(i))||i);return r&&i&&Z(t,s,i),i};const A="a to-do list with ten items about moving house, four done",$=[A,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],k=["sort by name","dark mode","show only the open ones","delete the second","tick off the first one"],x="todo.steps",T=20,J=600;function Q(e){try{const{all:t,at:s}=e,r=t.map(({page:i,said:o,ms:d})=>({page:G(i),said:o,ms:d}));return P({all:r,at:s},0)}catch{return b()}}let a=class extends S{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.steps=b(),this.draft=null,this.isWriting=!1,this.sentence="",this.stopping=new AbortController,this.asked=0,this.onKey=e=>{const t=M(e);t===0&&!N(e)||(e.preventDefault(),t===0?this.input.focus():this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.begin().catch(c)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),this.stopping.abort()}async begin(){this.cards=R(await g.models()),this.model=this.cards[0]?.id??"",this.steps=Q(O(x,null))}move(e){const t=this.steps.at;this.steps=P(this.steps,e),this.keep(),this.steps.at!==t?y(e<0?"Undone.":"Done again."):e!==0&&h(`There is nothing to ${e<0?"undo":"redo"}.`)}keep(){const{all:e,at:t}=this.steps,s=Math.max(0,Math.min(t,e.length-T)),r=e.slice(s,s+T).map(i=>({...i,page:f(i.page)}));W(x,{all:r,at:t-s})}show(e,t,s){this.steps=K(this.steps,{page:e,said:t,ms:s}),this.keep()}async command(e){const t=e.trim();if(t===""||this.isWriting||this.model==="")return;const s=U(t);if(s!==0&&u(this.steps)!==void 0){this.sentence="",this.move(s);return}this.isWriting=!0,this.stopping=new AbortController;const r=u(this.steps)?.page??null;try{const i=await H(g,this.model,t,{page:r,seed:this.asked++,signal:this.stopping.signal,onDraft:o=>this.draft=o});this.sentence="",r!==null&&f(i.page)===f(r)?h(L):(this.show(i.page,t,i.ms),y("Changed."))}catch(i){i instanceof q?h(i.message):this.stopping.signal.aborted||c(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:e}){const t=u(this.steps)?.page;if(t!==void 0&&(e.say!==void 0&&h(e.say),e.ask!==void 0&&this.command(e.ask),!(e.program===void 0||e.program==="")))try{this.show(F(t,e.program),e.program.split(`
`).join("; "),0)}catch(s){c(s)}}hint(e){const t=e===void 0?[]:[...z(e.page)].flatMap(({text:r,cells:i})=>[r,...i]);return[...e===void 0?$:k,...t.filter(r=>r!=="")].join(". ").slice(0,J)}startAgain(){const e=this.steps;this.steps=b(),this.keep(),h("The screen is gone.",{label:"Undo",run:()=>{this.steps=e,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return n`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model on this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const e=u(this.steps);return n`<div class="page">
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
            placeholder=${e===void 0?A:"sort by name"}
            .value=${this.sentence}
            @input=${t=>this.sentence=t.target.value}
        /></label>
        ${this.isWriting?n`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:n`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(e)}
          @sf-heard=${({detail:t})=>{this.sentence=t,this.command(t)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${(e===void 0?$:k).map(t=>n`<button ?disabled=${this.isWriting} @click=${()=>this.command(t)}>${t}</button>`)}
      </div>
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${e===void 0&&this.draft===null?n`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:n`<sf-screen
                .page=${this.draft??e?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${t=>this.onEffect(t)}
              ></sf-screen>`}
      </div>
      ${e===void 0?w:this.history(e)}
    </div>`}history(e){const{all:t,at:s}=this.steps;return n`<div class="row bar">
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
          ${t.map(({said:r},i)=>n`<li>
                <button
                  class="quiet"
                  aria-current=${i===s?"step":w}
                  @click=${()=>this.move(i-s)}
                >
                  ${r}
                </button>
              </li>`)}
        </ol>
      </details>`}};a.styles=[E,C`
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
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `];p([D()],a.prototype,"place",2);p([l()],a.prototype,"cards",2);p([l()],a.prototype,"model",2);p([l()],a.prototype,"steps",2);p([l()],a.prototype,"draft",2);p([l()],a.prototype,"isWriting",2);p([l()],a.prototype,"sentence",2);p([j("#command")],a.prototype,"input",2);a=p([_("sf-todo-page")],a);export{a as TodoPage};
