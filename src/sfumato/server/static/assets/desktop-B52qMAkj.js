import{e as _,i as A,n as u,g as C,d as a,t as S,p as K,c as $,q as w,o as j,s as b,b as z,A as k,r as L}from"./index-BtolXjW9.js";import{c as N}from"./repeat-wmaXMVvS.js";import{g as I,p as U,n as q,c as M}from"./steps-mb0g5HZU.js";import{p as R,P as B,t as v,a as F,b as X,N as Y,e as G}from"./screen-DxSewOsQ.js";import{u as H}from"./keys-DoTgPSuZ.js";import"./offsets-EgNy2a1f.js";import"./answer-DGxee2HY.js";import"./canvas-BqwZnn-S.js";import"./take-e_k57EW5.js";import"./live-CvleBvck.js";var J=Object.defineProperty,Q=Object.getOwnPropertyDescriptor,g=(e,t,i,s)=>{for(var n=s>1?void 0:s?Q(t,i):t,o=e.length-1,r;o>=0;o--)(r=e[o])&&(n=(s?r(t,i,n):r(n))||n);return s&&n&&J(t,i,n),n};const E=24,P={width:240,height:160};let h=class extends C{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1}updated(){const{x:e,y:t,width:i,height:s}=this.place;Object.assign(this.style,{left:`${e}px`,top:`${t}px`,width:`${i}px`,height:`${s}px`})}send(e){this.dispatchEvent(new CustomEvent("sf-window",{detail:e,bubbles:!0,composed:!0}))}change(e){const t={...this.place,...e},i={x:Math.max(0,t.x),y:Math.max(0,t.y),width:Math.max(P.width,t.width),height:Math.max(P.height,t.height)};this.dispatchEvent(new CustomEvent("sf-place",{detail:i,bubbles:!0,composed:!0}))}drag(e,t){if(e.target instanceof HTMLButtonElement&&e.target!==e.currentTarget)return;this.send("front");const[i,s]=[this.place,e.currentTarget];s.setPointerCapture(e.pointerId);const n=r=>this.change(t({x:r.clientX-e.clientX,y:r.clientY-e.clientY},i));s.addEventListener("pointermove",n);const o=()=>s.removeEventListener("pointermove",n);s.addEventListener("pointerup",o,{once:!0}),s.addEventListener("pointercancel",o,{once:!0})}onKey(e){const t={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[e.key];if(t===void 0||e.target!==e.currentTarget)return;const[i,s]=[(t[0]??0)*E,(t[1]??0)*E],{x:n,y:o,width:r,height:p}=this.place;this.change(e.shiftKey?{width:r+i,height:p+s}:{x:n+i,y:o+s}),e.preventDefault()}render(){return a`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @pointerdown=${e=>{this.drag(e,(t,i)=>({x:i.x+t.x,y:i.y+t.y}))}}
      >
        <h2>${this.name}</h2>
        <button class="quiet" aria-label=${`Minimise ${this.name}`} @click=${()=>this.send("minimise")}>
          –
        </button>
        <button class="quiet" aria-label=${`Close ${this.name}`} @click=${()=>this.send("close")}>✕</button>
      </header>
      <div class="inside" @pointerdown=${()=>this.send("front")}><slot></slot></div>
      <div
        class="corner"
        aria-hidden="true"
        @pointerdown=${e=>{this.drag(e,(t,i)=>({width:i.width+t.x,height:i.height+t.y}))}}
      ></div>`}};h.styles=[_,A`
      :host {
        position: absolute;
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        background: var(--surface);
        border: 1px solid var(--line);
        border-radius: 12px;
        box-shadow: 0 8px 30px rgb(0 0 0 / 18%);
        overflow: hidden;
      }
      :host([front]) {
        border-color: var(--accent);
      }
      header {
        display: flex;
        align-items: center;
        gap: 0.25rem;
        padding: 0.3rem 0.4rem 0.3rem 0.8rem;
        background: var(--surface-2);
        cursor: move;
        touch-action: none;
        user-select: none;
      }
      h2 {
        flex: 1;
        margin: 0;
        font-size: 0.95rem;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      header button {
        padding: 0.05rem 0.5rem;
      }
      .inside {
        overflow: auto;
        min-height: 0;
      }
      .corner {
        position: absolute;
        inset: auto 0 0 auto;
        width: 18px;
        height: 18px;
        cursor: nwse-resize;
        touch-action: none;
        background: linear-gradient(135deg, transparent 50%, var(--line-strong) 50%);
        border: 0;
        padding: 0;
      }
      @media (max-width: 40rem) {
        /* One below the other, wherever they were. */
        :host {
          position: static;
          width: auto !important;
          height: auto !important;
        }
        .corner {
          display: none;
        }
      }
    `];g([u()],h.prototype,"name",2);g([u({attribute:!1})],h.prototype,"place",2);g([u({type:Boolean})],h.prototype,"front",2);h=g([S("sf-window")],h);const V=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}];function Z(){return{windows:[],next:1}}function T(e,t,i){const s=Math.min(420,i-32),n=Math.max(1,Math.floor((i-32)/(s+16))),[o,r]=[(e.next-1)%n,Math.floor((e.next-1)/n)%5],p={x:16+o*(s+16)+24*r,y:16+40*r,width:s,height:440},m={id:e.next,app:t,place:p,isMinimised:!1,pages:q(),draft:null,isWriting:!1,error:""};return{windows:[...e.windows,m],next:e.next+1}}function d(e,t,i){return{...e,windows:e.windows.map(s=>s.id===t?{...s,...i}:s)}}function D(e,t){const i=e.windows.find(s=>s.id===t);return i===void 0||e.windows.at(-1)===i?e:{...e,windows:[...e.windows.filter(s=>s!==i),i]}}function ee(e,t){return{...e,windows:e.windows.filter(i=>i.id!==t)}}function y(e,t,i){const s=e.windows.find(n=>n.id===t);return s===void 0?e:d(e,t,{pages:U(s.pages,i),error:""})}function O(e,t,i){const s=e.windows.find(n=>n.id===t);return s===void 0?e:d(e,t,{pages:I(s.pages,i)})}function te(e){return e.windows.flatMap(({app:t,place:i,isMinimised:s,pages:n})=>{const o=n.all[n.at];return o===void 0?[]:[{app:t,place:i,isMinimised:s,page:v(o)}]})}function ie(e){let t=Z();for(const i of Array.isArray(e)?e:[]){const{app:s,place:n,isMinimised:o,page:r}=i??{},{name:p,sentence:m}=s??{},x=Object.values(n??{});if(!(typeof p!="string"||typeof m!="string"||typeof r!="string")&&!(x.length!==4||!x.every(Number.isFinite)))try{const l=t.next;t=y(T(t,{name:p,sentence:m},1e3),l,R(r)),t=d(t,l,{place:n,isMinimised:o===!0})}catch(l){if(!(l instanceof B))throw l}}return t}var se=Object.defineProperty,ne=Object.getOwnPropertyDescriptor,f=(e,t,i,s)=>{for(var n=s>1?void 0:s?ne(t,i):t,o=e.length-1,r;o>=0;o--)(r=e[o])&&(n=(s?r(t,i,n):r(n))||n);return s&&n&&se(t,i,n),n};const W="desktop";let c=class extends C{constructor(){super(...arguments),this.place="",this.model=null,this.desktop=ie(K(W,[])),this.stopping=new Map,this.asked=0,this.onKey=e=>{const t=H(e),i=this.desktop.windows.filter(({isMinimised:s})=>!s).at(-1);t===0||i===void 0||(e.preventDefault(),this.change(O(this.desktop,i.id,t)))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),$.models().then(e=>this.model=F(e)[0]?.id??"",w)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey);for(const e of this.stopping.values())e.abort()}change(e){this.desktop=e,j(W,te(e))}open(e){const t=this.desktop.next;this.change(T(this.desktop,e,this.clientWidth)),this.ask(t,e.sentence)}async ask(e,t){const i=this.desktop.windows.find(o=>o.id===e);if(i===void 0||i.isWriting||!this.model||t.trim()==="")return;const s=new AbortController;this.stopping.set(e,s);const n=M(i.pages)??null;this.desktop=d(this.desktop,e,{isWriting:!0,error:""});try{const o=await X($,this.model,t,{page:n,seed:this.asked++,signal:s.signal,onDraft:r=>this.desktop=d(this.desktop,e,{draft:r})});n!==null&&v(n)===v(o.page)?b("It is like that already."):this.change(y(this.desktop,e,o.page)),z(`${i.app.name}: changed.`)}catch(o){o instanceof Y?n===null?this.desktop=d(this.desktop,e,{error:o.message}):b(o.message):s.signal.aborted||(w(o),this.desktop=d(this.desktop,e,{error:n===null?"It was not written.":""}))}finally{this.desktop=d(this.desktop,e,{isWriting:!1,draft:null})}}onEffect(e,t,i){if(i.say!==void 0&&b(i.say),i.ask!==void 0&&this.ask(e.id,i.ask),!(i.program===void 0||i.program===""))try{this.change(y(this.desktop,e.id,G(t,i.program)))}catch(s){w(s)}}onWindow(e,t){t==="close"?(this.stopping.get(e.id)?.abort(),this.change(ee(this.desktop,e.id))):t==="minimise"?this.change(d(this.desktop,e.id,{isMinimised:!0})):this.change(D(this.desktop,e.id))}render(){return a`<div class="page">
      <h1>Desktop</h1>
      ${this.model===""?a`<p class="muted">
              No model of this server writes screens; start it with one: sfumato serve ui
            </p>`:k}
      <div class="apps" role="group" aria-label="Apps">
        ${V.map(e=>a`<button ?disabled=${!this.model} @click=${()=>this.open(e)}>
              <b aria-hidden="true">${e.name[0]}</b>${e.name}
            </button>`)}
      </div>
      <div class="surface">
        ${this.desktop.windows.length===0?a`<p class="note muted">
                Open an app: it is made then. Say in its window what should be different.
              </p>`:k}
        ${N([...this.desktop.windows].sort((e,t)=>e.id-t.id),({id:e})=>e,e=>this.window(e))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows.filter(({isMinimised:e})=>e).map(e=>a`<button
                @click=${()=>this.change(D(d(this.desktop,e.id,{isMinimised:!1}),e.id))}
              >
                ${e.app.name}
              </button>`)}
      </div>
    </div>`}window(e){const t=e.draft??M(e.pages)??null,i=this.desktop.windows.indexOf(e);return a`<sf-window
      name=${e.app.name}
      style=${`z-index: ${i+1}`}
      ?hidden=${e.isMinimised}
      ?front=${i===this.desktop.windows.length-1}
      .place=${e.place}
      @sf-place=${({detail:s})=>this.change(d(this.desktop,e.id,{place:s}))}
      @sf-window=${({detail:s})=>this.onWindow(e,s)}
    >
      <form
        @submit=${s=>{s.preventDefault();const n=s.target,o=new FormData(n).get("said");n.reset(),typeof o=="string"&&this.ask(e.id,o)}}
      >
        <input
          name="said"
          aria-label=${`Say what to change in ${e.app.name}`}
          placeholder="Say what to change …"
          autocomplete="off"
        />
        ${e.isWriting?a`<button type="button" @click=${()=>this.stopping.get(e.id)?.abort()}>Stop</button>`:a`<button
                type="button"
                aria-label=${`Undo in ${e.app.name}`}
                ?disabled=${e.pages.at<1}
                @click=${()=>this.change(O(this.desktop,e.id,-1))}
              >
                Undo
              </button>`}
      </form>
      ${t===null?a`<p class="note muted">
              ${e.isWriting?"Writing …":a`${e.error||"Nothing was written."}
                      <button @click=${()=>this.ask(e.id,e.app.sentence)}>Try again</button>`}
            </p>`:a`<sf-screen
              .page=${t}
              ?draft=${e.draft!==null}
              @sf-effect=${({detail:s})=>{e.draft===null&&this.onEffect(e,t,s)}}
            ></sf-screen>`}
    </sf-window>`}};c.styles=[_,A`
      .page {
        display: grid;
        gap: 0.75rem;
        grid-template-columns: minmax(0, 1fr);
      }
      .apps {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
      }
      .apps button {
        display: grid;
        justify-items: center;
        gap: 0.15rem;
        width: 5.6rem;
        padding: 0.5rem 0.25rem;
      }
      .apps b {
        display: grid;
        place-items: center;
        width: 2.2rem;
        height: 2.2rem;
        border-radius: 10px;
        background: var(--accent);
        color: var(--on-accent);
      }
      .surface {
        position: relative;
        min-height: 70vh;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        background:
          radial-gradient(
            circle at 20% 20%,
            color-mix(in oklab, var(--accent) 18%, transparent),
            transparent 60%
          ),
          radial-gradient(
            circle at 80% 80%,
            color-mix(in oklab, var(--warm) 18%, transparent),
            transparent 60%
          ),
          var(--bg);
      }
      form {
        display: flex;
        gap: 0.4rem;
        padding: 0.5rem;
        border-bottom: 1px solid var(--line);
      }
      form input {
        flex: 1;
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        min-height: 2.4rem;
      }
      .note {
        padding: 0.75rem;
        margin: 0;
      }
      @media (max-width: 40rem) {
        .surface {
          display: grid;
          gap: 0.5rem;
          padding: 0.5rem;
          align-content: start;
        }
      }
    `];f([u()],c.prototype,"place",2);f([L()],c.prototype,"model",2);f([L()],c.prototype,"desktop",2);c=f([S("sf-desktop-page")],c);export{c as DesktopPage};
