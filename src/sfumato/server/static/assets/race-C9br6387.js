import{e as A,i as T,n as v,g as O,A as g,d as a,t as S,p as B,m as P,c as j,o as F,l as E,b as G,r as p}from"./index-iF5kxkqc.js";import{s as W,m as N,d as L,j as _}from"./intervals-4lRxG4fx.js";import{e as D,a as U,t as V}from"./canvas-DS9N_J7d.js";import"./canvas-DaO1ex7E.js";import"./offsets-EgNy2a1f.js";function q(t){return{model:t.id,isCanvas:t.capabilities.includes("canvas"),status:"ready",frames:[],firstMs:null,endMs:null,usage:{},claims:[],isRight:null,error:null}}async function Y(t,e,s,n){if(e.loaded)return;const i=[{role:"user",content:s}];await t.json("POST","/v1/chat/completions",{model:e.id,messages:i,max_tokens:1},n)}async function*H(t,e,s,n,i=()=>performance.now()){const o=i(),r=[];let l={...e,status:"running",frames:[{atMs:0,view:D("")}]};yield l;try{let c=D("");for await(const b of e.isCanvas?t.stream({model:e.model,prompt:s.text,seed:s.seed,every_step:!0},n):J(t,e.model,s,n)){const M=i()-o;c=U(c,b);const C=c.status!=="running",R=s.judge?.claim(V(c),C)??null;(R!==null||C)&&R!==r.at(-1)&&r.push(R),l={...l,frames:[...l.frames,{atMs:M,view:c}],firstMs:l.firstMs??(c.committed>0?M:null),usage:c.ending.usage??l.usage,claims:[...r]},yield l}const $=r.at(-1)??null,f=c.status==="done",w=s.judge===null||!f?null:$!==null&&s.judge.isRight($),k=f?null:c.ending.error?.message??"the stream ended before the answer did";yield{...l,status:f?"done":"failed",endMs:l.frames.at(-1)?.atMs??0,isRight:w,error:k}}catch(c){const $=n.aborted?"stopped":"failed",f=c instanceof Error?c.message:String(c);yield{...l,status:$,endMs:i()-o,error:n.aborted?null:f}}}async function*J(t,e,s,n){const i={canvas_id:"",rev:0};let[o,r]=[0,""],l,c=null;const $={model:e,messages:[{role:"user",content:s.text}],seed:s.seed};for await(const w of t.chat($,n)){l=w.usage??l;const[k]=w.choices;c=k?.finish_reason??c;const b=k?.delta.content??"";if(b==="")continue;const M=[r.length,r.length+b.length];r+=b,yield{...i,seq:o++,type:"canvas.commit",block:o,chars:M,text:b}}if(c===null)return;const f=l===void 0?{}:{usage:l};yield{...i,seq:o++,type:"canvas.done",status:"done",text:r,finish_reason:c,...f}}function K(t,e){return e===null?t.frames.at(-1):t.frames.findLast(s=>s.atMs<=e)??t.frames[0]}function Q({usage:t,endMs:e}){const{completion_tokens:s}=t;return s===void 0||e===null||e===0?null:s*1e3/e}const Z={races:0,judged:0,right:0,rightAtFirst:0,firstMs:[],endMs:[]};function tt(t,e,s){if(e.status!=="done")return t;const n=e.claims[0]??null,i=n!==null&&s!==null&&s.isRight(n);return{races:t.races+1,judged:t.judged+(e.isRight===null?0:1),right:t.right+(e.isRight===!0?1:0),rightAtFirst:t.rightAtFirst+(i?1:0),firstMs:e.firstMs===null?t.firstMs:[...t.firstMs,e.firstMs],endMs:e.endMs===null?t.endMs:[...t.endMs,e.endMs]}}var et=Object.defineProperty,st=Object.getOwnPropertyDescriptor,y=(t,e,s,n)=>{for(var i=n>1?void 0:n?st(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(i=(n?r(e,s,i):r(i))||i);return n&&i&&et(e,s,i),i};const it={ready:"ready",running:"under way",done:"at the end",stopped:"stopped",failed:"failed"};function u(t){return t===null?"–":t<1e3?`${Math.round(t)} ms`:`${(t/1e3).toFixed(2)} s`}let m=class extends O{constructor(){super(...arguments),this.judge=null,this.clock=0,this.replayed=!1,this.scale=1}render(){const{lane:t,clock:e}=this,s=t.endMs!==null&&(!this.replayed||e>=t.endMs),n=K(t,this.replayed?e:null),i=s?t.endMs:e,o=l=>`${Math.min(100,100*l/this.scale).toFixed(2)}%`,{firstMs:r}=t;return a`
      <header>
        <h2>
          ${t.model}
          <span class="muted figures"
            >${t.isCanvas?"revises in place":"writes token after token"}</span
          >
        </h2>
        <span class="clock" aria-label=${`Clock: ${u(i)}, ${it[t.status]}`} role="img"
          >${u(i)}</span
        >
      </header>
      <div class="track" aria-hidden="true">
        <div class="run" style=${`width: ${o(i)}`}></div>
        ${r!==null&&i>=r?a`<div class="first" style=${`left: min(${o(r)}, 100% - 2px)`}></div>`:g}
      </div>
      <sf-canvas
        label=${`Text of ${t.model}`}
        .tokens=${n?.view.tokens??[]}
        .clock=${n?.view.clock??0}
      ></sf-canvas>
      <div>
        ${this.verdict(s)}
        <dl class="figures">
          ${this.figures(n?.view.clock??0,s).map(([l,c])=>a`<div>
                <dt>${l}</dt>
                <dd>${c}</dd>
              </div>`)}
        </dl>
      </div>
    `}figures(t,e){const{lane:s}=this,{usage:n}=s,i=l=>l===void 0||!e?"–":l.toLocaleString("en"),o=e?Q(s):null,r=!this.replayed||this.clock>=(s.firstMs??1/0);return[["first committed",u(r?s.firstMs:null)],["to the end",u(e&&s.status==="done"?s.endMs:null)],["steps",e||!s.isCanvas?i(n.denoising_steps):String(t)],["forward passes",i(n.forward_passes)],["positions",i(n.positions_computed)],["revisions",i(n.revisions)],["tokens",i(n.completion_tokens)],["tokens/s",o===null?"–":Math.round(o).toLocaleString("en")]]}verdict(t){const{lane:e,judge:s}=this;if(e.error!==null)return a`<p class="verdict error">${e.error}</p>`;if(!t)return a`<p class="verdict"></p>`;if(e.status==="stopped")return a`<p class="verdict muted">Stopped.</p>`;if(s===null||e.isRight===null)return a`<p class="verdict muted">No judge.</p>`;const n=e.claims.map(o=>o===null?"no answer":W(o)).join(" → "),i=s.truth===null?"":` It is ${s.truth}.`;return e.isRight?a`<p class="verdict right">✓ Right: ${n}</p>`:a`<p class="verdict error">✗ Wrong: ${n}.${i}</p>`}};m.styles=[A,T`
      :host {
        display: grid;
        grid-template-rows: auto auto 1fr auto;
        gap: 0.6rem;
        min-width: 0;
      }
      header {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        align-items: baseline;
        gap: 0.25rem 1rem;
      }
      h2 {
        margin: 0;
        overflow-wrap: anywhere;
      }
      .clock {
        font: 650 1.5rem/1 var(--mono);
        font-variant-numeric: tabular-nums;
      }
      .track {
        position: relative;
        height: 6px;
        border-radius: 3px;
        background: var(--surface-2);
        overflow: hidden;
      }
      .run {
        position: absolute;
        inset: 0 auto 0 0;
        background: var(--accent);
        border-radius: 3px;
      }
      .first {
        position: absolute;
        inset-block: 0;
        width: 2px;
        background: var(--warm);
      }
      sf-canvas {
        min-height: 8.5em;
      }
      dl {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(7.2rem, 1fr));
        gap: 0.4rem 0.75rem;
        margin: 0;
      }
      dl > div {
        display: grid;
      }
      dd {
        margin: 0;
        color: var(--text);
      }
      .verdict {
        margin: 0;
        font-weight: 600;
        min-height: 1.5em;
      }
      .right {
        color: var(--good);
      }
    `];y([v({attribute:!1})],m.prototype,"lane",2);y([v({attribute:!1})],m.prototype,"judge",2);y([v({type:Number})],m.prototype,"clock",2);y([v({type:Boolean})],m.prototype,"replayed",2);y([v({type:Number})],m.prototype,"scale",2);m=y([S("sf-lane")],m);var nt=Object.defineProperty,ot=Object.getOwnPropertyDescriptor,X=(t,e,s,n)=>{for(var i=n>1?void 0:n?ot(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(i=(n?r(e,s,i):r(i))||i);return n&&i&&nt(e,s,i),i};let x=class extends O{constructor(){super(...arguments),this.tallies={}}render(){return a`<div class="scroll" role="region" aria-label="Score" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">model</th>
            <th scope="col">right</th>
            <th scope="col">first answer right</th>
            <th scope="col">first committed, median</th>
            <th scope="col">to the end, median</th>
            <th scope="col">races</th>
          </tr>
        </thead>
        <tbody>
          ${Object.entries(this.tallies).map(([t,e])=>a`<tr>
                <th scope="row">${t}</th>
                <td>${e.judged===0?"no judge":`${e.right} of ${e.judged}`}</td>
                <td>${e.judged===0?"–":`${e.rightAtFirst} of ${e.judged}`}</td>
                <td>${u(N(e.firstMs))}</td>
                <td>${u(N(e.endMs))}</td>
                <td>${e.races}</td>
              </tr>`)}
        </tbody>
      </table>
    </div>`}};x.styles=[A,B];X([v({attribute:!1})],x.prototype,"tallies",2);x=X([S("sf-score")],x);var rt=Object.defineProperty,at=Object.getOwnPropertyDescriptor,d=(t,e,s,n)=>{for(var i=n>1?void 0:n?at(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(i=(n?r(e,s,i):r(i))||i);return n&&i&&rt(e,s,i),i};const lt=4,I=1e3,ct=2**31,z="answer, then derive: ",ht=[z,"derive, then answer: "],dt=[1,.25,.05,.01];let h=class extends O{constructor(){super(...arguments),this.place="",this.cards=[],this.chosen=P("race.models",[]),this.prompt="",this.lanes=[],this.tallies={},this.together=P("race.together",!1),this.series=10,this.left=0,this.note="",this.isRacing=!1,this.speed=.05,this.clock=0,this.isReplayed=!1,this.raced="",this.starts=[],this.stopping=new AbortController,this.ticking=0}connectedCallback(){super.connectedCallback(),this.prompt=z+L(),j.models().then(t=>{this.cards=t;const e=this.chosen.filter(s=>t.some(n=>n.id===s));this.choose(e.length>1?e:pt(t))},F)}disconnectedCallback(){super.disconnectedCallback(),this.stop(),cancelAnimationFrame(this.ticking)}choose(t){this.chosen=t,this.lanes=this.chosenCards().map(q),this.isReplayed=!1,this.clock=0,t.length>0&&E("race.models",t)}chosenCards(){return this.chosen.flatMap(t=>this.cards.filter(e=>e.id===t))}stop(){this.left=0,this.stopping.abort()}drawn(){return ht.find(t=>this.prompt.startsWith(t))}next(){const t=this.drawn();t!==void 0&&(this.prompt=t+L())}async race(t){if(!(this.isRacing||this.prompt.trim()==="")){this.isRacing=!0,this.left=t,this.stopping=new AbortController;try{for(const e of this.chosenCards().filter(({loaded:s})=>!s))this.note=`Opening ${e.id} …`,await Y(j,e,this.prompt,this.stopping.signal);for(this.cards=this.cards.map(e=>this.chosen.includes(e.id)?{...e,loaded:!0}:e),this.note="";this.left>0;)await this.raceOnce(),this.left=Math.max(0,this.left-1),this.lanes.some(({status:e})=>e==="failed")&&(this.left=0),this.left>0&&this.next()}catch(e){F(e)}finally{this.note="",this.left=0,this.isRacing=!1}}}async raceOnce(){const t=_(this.prompt),e={text:this.prompt,seed:Math.floor(Math.random()*ct),judge:t};this.raced=this.prompt,this.lanes=this.chosenCards().map(q),this.starts=this.lanes.map(()=>1/0),this.isReplayed=!1;const s=async i=>{this.starts[i]=performance.now();const o=this.lanes[i];if(o!==void 0)for await(const r of H(j,o,e,this.stopping.signal))this.lanes=this.lanes.with(i,r)};this.tick();const n=this.lanes.map((i,o)=>o);if(this.together)await Promise.all(n.map(s));else for(const i of n)this.stopping.signal.aborted||await s(i);cancelAnimationFrame(this.ticking),this.clock=this.longest(),this.tallies=Object.fromEntries([...Object.entries(this.tallies),...this.lanes.map(i=>[i.model,tt(this.tallies[i.model]??Z,i,t)])]),G(this.lanes.map(ut).join(" "))}tick(){cancelAnimationFrame(this.ticking),this.ticking=requestAnimationFrame(()=>{this.clock=performance.now(),this.isRacing&&this.tick()})}longest(){return Math.max(1,...this.lanes.map(({frames:t,endMs:e})=>e??t.at(-1)?.atMs??0))}replay(t=0){cancelAnimationFrame(this.ticking),this.isReplayed=!0,this.clock=t;let e=performance.now();const s=()=>{const n=performance.now();this.clock=Math.min(this.longest(),this.clock+(n-e)*this.speed),e=n,this.clock<this.longest()&&(this.ticking=requestAnimationFrame(s))};this.ticking=requestAnimationFrame(s)}clockOf(t){return this.isReplayed||!this.isRacing?this.clock:Math.max(0,this.clock-(this.starts[t]??1/0))}render(){return a`<h1>Race</h1>
      <p class="muted">
        One prompt, two to four models, true clocks: from this page's request to what the page received.
      </p>
      ${this.form()} ${this.note===""?g:a`<p class="muted" role="status">${this.note}</p>`}
      <div class="lanes">
        ${this.lanes.map((t,e)=>a`<sf-lane
              class="card"
              .lane=${t}
              .judge=${_(this.raced)}
              .clock=${this.clockOf(e)}
              .replayed=${this.isReplayed}
              .scale=${Math.max(this.longest(),this.clockOf(e))}
            ></sf-lane>`)}
      </div>
      ${this.player()} ${this.score()}`}form(){const t=this.chosenCards()[0]?.sfumato.kinds??[],e=_(this.prompt);return a`<form
      @submit=${s=>{s.preventDefault(),this.race(1)}}
    >
      <label
        >Prompt
        <textarea
          name="prompt"
          rows="2"
          .value=${this.prompt}
          ?disabled=${this.isRacing}
          @input=${s=>this.prompt=s.target.value}
        ></textarea>
      </label>
      <div class="row">
        <label
          >Examples
          <select
            name="kind"
            ?disabled=${this.isRacing}
            @change=${s=>this.prompt=s.target.value}
          >
            <option value="" disabled selected>of what the model learned</option>
            ${t.map(s=>a`<option value=${s.example}>${s.name}</option>`)}
          </select>
        </label>
        ${this.chosen.map((s,n)=>this.laneChoice(s,n))}
        ${this.chosen.length<Math.min(lt,this.cards.length)?a`<button
                type="button"
                ?disabled=${this.isRacing}
                @click=${()=>{const s=this.cards.find(({id:n})=>!this.chosen.includes(n));s!==void 0&&this.choose([...this.chosen,s.id])}}
              >
                Another lane
              </button>`:g}
        <label
          >Start
          <select
            name="start"
            ?disabled=${this.isRacing}
            @change=${s=>{this.together=s.target.value==="together",E("race.together",this.together)}}
          >
            <option value="each" ?selected=${!this.together}>one after the other</option>
            <option value="together" ?selected=${this.together}>all at once</option>
          </select>
        </label>
      </div>
      <p class="muted figures" style="margin: 0">
        ${this.together?"All start at once and share the machine's cores: this is what two users at a time would see.":"Each has the machine to itself: this is the fair comparison of speed."}
        ${e===null?"No judge for this prompt.":`The judge: ${e.says}.`}
      </p>
      <div class="row">
        <button class="primary" ?disabled=${this.isRacing||this.chosen.length<2}>Race</button>
        <button
          type="button"
          ?disabled=${this.isRacing||this.drawn()===void 0}
          @click=${()=>{this.next(),this.race(1)}}
        >
          Next expression
        </button>
        <label class="inline"
          >Series of
          <input
            name="series"
            type="number"
            min="1"
            max=${I}
            .value=${String(this.series)}
            ?disabled=${this.isRacing}
            @change=${s=>{const n=Math.round(s.target.valueAsNumber);this.series=Math.max(1,Math.min(I,n||1)),this.requestUpdate()}}
        /></label>
        <button
          type="button"
          ?disabled=${this.isRacing||this.chosen.length<2}
          @click=${()=>{this.next(),this.race(this.series)}}
        >
          Start series
        </button>
        <button type="button" ?disabled=${!this.isRacing} @click=${()=>this.stop()}>Stop</button>
        ${this.left>1?a`<span class="figures">${this.left-1} to come</span>`:g}
      </div>
    </form>`}laneChoice(t,e){const s=n=>{const i=n.target.value;this.choose(i===""?this.chosen.toSpliced(e,1):this.chosen.with(e,i))};return a`<label
      >Lane ${e+1}
      <select name=${`lane-${e+1}`} ?disabled=${this.isRacing} @change=${s} .value=${t}>
        ${this.cards.map(n=>a`<option
              value=${n.id}
              ?selected=${n.id===t}
              ?disabled=${n.id!==t&&this.chosen.includes(n.id)}
            >
              ${n.id}
            </option>`)}
        ${this.chosen.length>2?a`<option value="">no model</option>`:g}
      </select>
    </label>`}player(){return this.isRacing||this.lanes.every(({endMs:t})=>t===null)?g:a`<div class="row card" role="group" aria-label="Look at it again">
      <button @click=${()=>this.replay()}>Watch again</button>
      <label class="inline"
        >Speed
        <select
          name="speed"
          @change=${t=>this.speed=Number(t.target.value)}
        >
          ${dt.map(t=>a`<option value=${t} ?selected=${t===this.speed}>
                ${t===1?"as it was":`1/${1/t}`}
              </option>`)}
        </select>
      </label>
      <input
        type="range"
        aria-label="Time"
        aria-valuetext=${u(this.clock)}
        min="0"
        max=${this.longest()}
        step="any"
        .value=${String(this.clock)}
        @input=${t=>{cancelAnimationFrame(this.ticking),this.isReplayed=!0,this.clock=t.target.valueAsNumber}}
      />
    </div>`}score(){return Object.keys(this.tallies).length===0?g:a`<section aria-labelledby="score">
      <div class="row" style="margin-top: 1.25rem">
        <h2 id="score" style="margin: 0">Score so far</h2>
        <button class="quiet" ?disabled=${this.isRacing} @click=${()=>this.tallies={}}>
          Forget it
        </button>
      </div>
      <sf-score .tallies=${this.tallies}></sf-score>
    </section>`}};h.styles=[A,T`
      form {
        display: grid;
        gap: 0.75rem;
        margin-bottom: 1rem;
      }
      textarea {
        font-family: var(--mono);
        resize: vertical;
        width: 100%;
      }
      .lanes {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr));
        gap: 0.75rem;
        margin-bottom: 0.75rem;
      }
      .row {
        align-items: end;
      }
      .row > label {
        min-width: 8rem;
      }
      .row > label.inline {
        min-width: 0;
      }
      input[type="number"] {
        width: 5rem;
      }
      input[type="range"] {
        flex: 1;
        min-width: 8rem;
      }
    `];d([v()],h.prototype,"place",2);d([p()],h.prototype,"cards",2);d([p()],h.prototype,"chosen",2);d([p()],h.prototype,"prompt",2);d([p()],h.prototype,"lanes",2);d([p()],h.prototype,"tallies",2);d([p()],h.prototype,"together",2);d([p()],h.prototype,"series",2);d([p()],h.prototype,"left",2);d([p()],h.prototype,"note",2);d([p()],h.prototype,"isRacing",2);d([p()],h.prototype,"speed",2);d([p()],h.prototype,"clock",2);d([p()],h.prototype,"isReplayed",2);h=d([S("sf-race-page")],h);function pt(t){const e=t.find(({capabilities:i})=>i.includes("canvas"))??t[0],n=t.find(({id:i})=>i===`${e?.id??""}-twin`)??t.find(({id:i})=>i!==e?.id);return[e,n].flatMap(i=>i===void 0?[]:[i.id])}function ut(t){const e=t.claims.at(-1),s=t.isRight===null?"no judge":t.isRight?"right":"wrong",n=e==null?"":`${W(e)}, `;return t.error===null?`${t.model}: ${n}${s}, ${u(t.endMs)}.`:`${t.model}: ${t.error}.`}export{h as RacePage};
