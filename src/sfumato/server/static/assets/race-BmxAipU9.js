import{e as j,i as D,n as g,g as _,A as f,d as a,w as A,x as B,s as k,c as M,u as C,q as R,b as G,r as p}from"./index-B3E5B1W5.js";import{s as q,m as P,d as E,j as x}from"./intervals-CY-SNFsX.js";import{g as U}from"./answer-UQjbIVjM.js";import{e as F,a as V,t as Y}from"./canvas-BqwZnn-S.js";import"./canvas-Bo2askCk.js";import"./offsets-EgNy2a1f.js";function N(t){return{model:t.id,isCanvas:t.capabilities.includes("canvas"),status:"ready",frames:[],firstMs:null,endMs:null,usage:{},claims:[],isRight:null,error:null}}async function H(t,e,s,n){if(e.loaded)return;const i=[{role:"user",content:s}];await t.json("POST","/v1/chat/completions",{model:e.id,messages:i,max_tokens:1},n)}async function*J(t,e,s,n,i=()=>performance.now()){const r=i(),o=[];let l={...e,status:"running",frames:[{atMs:0,view:F("")}]};yield l;try{let h=F("");for await(const z of e.isCanvas?t.stream({model:e.model,prompt:s.text,seed:s.seed,every_step:!0},n):U(t,K(e,s),n)){const O=i()-r;h=V(h,z);const S=h.status!=="running",y=s.judge?.claim(Y(h),S)??null;(y!==null||S)&&y!==o.at(-1)&&o.push(y),l={...l,frames:[...l.frames,{atMs:O,view:h}],firstMs:l.firstMs??(h.committed>0?O:null),usage:h.ending.usage??l.usage,claims:[...o]},yield l}const b=o.at(-1)??null,v=h.status==="done",W=s.judge===null||!v?null:b!==null&&s.judge.isRight(b),X=v?null:h.ending.error?.message??"the stream ended before the answer did";yield{...l,status:v?"done":"failed",endMs:l.frames.at(-1)?.atMs??0,isRight:W,error:X}}catch(h){const b=n.aborted?"stopped":"failed",v=h instanceof Error?h.message:String(h);yield{...l,status:b,endMs:i()-r,error:n.aborted?null:v}}}function K({model:t},{text:e,seed:s}){return{model:t,messages:[{role:"user",content:e}],seed:s}}function Q(t,e){return e===null?t.frames.at(-1):t.frames.findLast(s=>s.atMs<=e)??t.frames[0]}function Z({usage:t,endMs:e}){const{completion_tokens:s}=t;return s===void 0||e===null||e===0?null:s*1e3/e}const tt={races:0,judged:0,right:0,rightAtFirst:0,firstMs:[],endMs:[]};function et(t,e,s){if(e.status!=="done")return t;const n=e.claims[0]??null,i=n!==null&&s!==null&&s.isRight(n);return{races:t.races+1,judged:t.judged+(e.isRight===null?0:1),right:t.right+(e.isRight===!0?1:0),rightAtFirst:t.rightAtFirst+(i?1:0),firstMs:e.firstMs===null?t.firstMs:[...t.firstMs,e.firstMs],endMs:e.endMs===null?t.endMs:[...t.endMs,e.endMs]}}var st=Object.defineProperty,it=Object.getOwnPropertyDescriptor,$=(t,e,s,n)=>{for(var i=n>1?void 0:n?it(e,s):e,r=t.length-1,o;r>=0;r--)(o=t[r])&&(i=(n?o(e,s,i):o(i))||i);return n&&i&&st(e,s,i),i};const nt={ready:"ready",running:"running",done:"finished",stopped:"stopped",failed:"failed"};function u(t){return t===null?"–":t<1e3?`${Math.round(t)} ms`:`${(t/1e3).toFixed(2)} s`}let m=class extends _{constructor(){super(...arguments),this.judge=null,this.clock=0,this.replayed=!1,this.scale=1}render(){const{lane:t,clock:e}=this,s=t.endMs!==null&&(!this.replayed||e>=t.endMs),n=Q(t,this.replayed?e:null),i=s?t.endMs:e,r=l=>`${Math.min(100,100*l/this.scale).toFixed(2)}%`,{firstMs:o}=t;return a`
      <header>
        <h2>
          ${t.model}
          <span class="muted figures"
            >${t.isCanvas?"revises in place":"writes token after token"}</span
          >
        </h2>
        <span class="clock" aria-label=${`Clock: ${u(i)}, ${nt[t.status]}`} role="img"
          >${u(i)}</span
        >
      </header>
      <div class="track" aria-hidden="true">
        <div class="run" style=${`width: ${r(i)}`}></div>
        ${o!==null&&i>=o?a`<div class="first" style=${`left: min(${r(o)}, 100% - 2px)`}></div>`:f}
      </div>
      <sf-canvas
        label=${`Text of ${t.model}`}
        .tokens=${n?.view.tokens??[]}
        .clock=${n?.view.clock??0}
      ></sf-canvas>
      <div>
        ${this.verdict(s)}
        <dl class="figures">
          ${this.figures(n?.view.clock??0,s).map(([l,h])=>a`<div>
                <dt>${l}</dt>
                <dd>${h}</dd>
              </div>`)}
        </dl>
      </div>
    `}figures(t,e){const{lane:s}=this,{usage:n}=s,i=l=>l===void 0||!e?"–":l.toLocaleString("en"),r=e?Z(s):null,o=!this.replayed||this.clock>=(s.firstMs??1/0);return[["first committed",u(o?s.firstMs:null)],["total",u(e&&s.status==="done"?s.endMs:null)],["steps",e||!s.isCanvas?i(n.denoising_steps):String(t)],["forward passes",i(n.forward_passes)],["positions",i(n.positions_computed)],["revisions",i(n.revisions)],["tokens",i(n.completion_tokens)],["tokens/s",r===null?"–":Math.round(r).toLocaleString("en")]]}verdict(t){const{lane:e,judge:s}=this;if(e.error!==null)return a`<p class="verdict error">${e.error}</p>`;if(!t)return a`<p class="verdict"></p>`;if(e.status==="stopped")return a`<p class="verdict muted">Stopped.</p>`;if(s===null||e.isRight===null)return a`<p class="verdict muted">Not checked.</p>`;const n=e.claims.map(r=>r===null?"no answer":q(r)).join(" → "),i=s.truth===null?"":` It is ${s.truth}.`;return e.isRight?a`<p class="verdict right">✓ Right: ${n}</p>`:a`<p class="verdict error">✗ Wrong: ${n}.${i}</p>`}};m.styles=[j,D`
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
    `];$([g({attribute:!1})],m.prototype,"lane",2);$([g({attribute:!1})],m.prototype,"judge",2);$([g({type:Number})],m.prototype,"clock",2);$([g({type:Boolean})],m.prototype,"replayed",2);$([g({type:Number})],m.prototype,"scale",2);m=$([A("sf-lane")],m);var rt=Object.defineProperty,ot=Object.getOwnPropertyDescriptor,I=(t,e,s,n)=>{for(var i=n>1?void 0:n?ot(e,s):e,r=t.length-1,o;r>=0;r--)(o=t[r])&&(i=(n?o(e,s,i):o(i))||i);return n&&i&&rt(e,s,i),i};let w=class extends _{constructor(){super(...arguments),this.tallies={}}render(){return a`<div class="scroll" role="region" aria-label="Score" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">model</th>
            <th scope="col">right</th>
            <th scope="col">first answer right</th>
            <th scope="col">first committed, median</th>
            <th scope="col">total, median</th>
            <th scope="col">races</th>
          </tr>
        </thead>
        <tbody>
          ${Object.entries(this.tallies).map(([t,e])=>a`<tr>
                <th scope="row">${t}</th>
                <td>${e.judged===0?"no judge":`${e.right} of ${e.judged}`}</td>
                <td>${e.judged===0?"–":`${e.rightAtFirst} of ${e.judged}`}</td>
                <td>${u(P(e.firstMs))}</td>
                <td>${u(P(e.endMs))}</td>
                <td>${e.races}</td>
              </tr>`)}
        </tbody>
      </table>
    </div>`}};w.styles=[j,B];I([g({attribute:!1})],w.prototype,"tallies",2);w=I([A("sf-score")],w);var at=Object.defineProperty,lt=Object.getOwnPropertyDescriptor,d=(t,e,s,n)=>{for(var i=n>1?void 0:n?lt(e,s):e,r=t.length-1,o;r>=0;r--)(o=t[r])&&(i=(n?o(e,s,i):o(i))||i);return n&&i&&at(e,s,i),i};const ct=4,L=1e3,ht=2**31,T="answer, then derive: ",dt=[T,"derive, then answer: "],pt=[1,.25,.05,.01];let c=class extends _{constructor(){super(...arguments),this.place="",this.cards=[],this.chosen=[k("race.models",[])].flat(),this.prompt="",this.lanes=[],this.tallies={},this.together=k("race.together",!1),this.series=10,this.left=0,this.note="",this.isRacing=!1,this.speed=.05,this.clock=0,this.isReplayed=!1,this.raced="",this.starts=[],this.stopping=new AbortController,this.ticking=0}connectedCallback(){super.connectedCallback(),this.prompt=k("race.prompt","")||T+E(),M.models().then(t=>{this.cards=t;const e=this.chosen.filter(s=>t.some(n=>n.id===s));this.choose(e.length>1?e:ut(t))},C)}disconnectedCallback(){super.disconnectedCallback(),this.stop(),cancelAnimationFrame(this.ticking)}choose(t){this.chosen=t,this.lanes=this.chosenCards().map(N),this.isReplayed=!1,this.clock=0,t.length>0&&R("race.models",t)}chosenCards(){return this.chosen.flatMap(t=>this.cards.filter(e=>e.id===t))}stop(){this.left=0,this.stopping.abort()}drawn(){return dt.find(t=>this.prompt.startsWith(t))}next(){const t=this.drawn();t!==void 0&&(this.prompt=t+E())}async race(t){if(!(this.isRacing||this.prompt.trim()==="")){this.isRacing=!0,this.left=t,this.stopping=new AbortController;try{for(const e of this.chosenCards().filter(({loaded:s})=>!s))this.note=`Opening ${e.id} …`,await H(M,e,this.prompt,this.stopping.signal);for(this.cards=this.cards.map(e=>this.chosen.includes(e.id)?{...e,loaded:!0}:e),this.note="";this.left>0;)await this.raceOnce(),this.left=Math.max(0,this.left-1),this.lanes.some(({status:e})=>e==="failed")&&(this.left=0),this.left>0&&this.next()}catch(e){C(e)}finally{this.note="",this.left=0,this.isRacing=!1}}}async raceOnce(){const t=x(this.prompt),e={text:this.prompt,seed:Math.floor(Math.random()*ht),judge:t};this.raced=this.prompt,R("race.prompt",this.prompt),this.lanes=this.chosenCards().map(N),this.starts=this.lanes.map(()=>1/0),this.isReplayed=!1;const s=async i=>{this.starts[i]=performance.now();const r=this.lanes[i];if(r!==void 0)for await(const o of J(M,r,e,this.stopping.signal))this.lanes=this.lanes.with(i,o)};this.tick();const n=this.lanes.map((i,r)=>r);if(this.together)await Promise.all(n.map(s));else for(const i of n)this.stopping.signal.aborted||await s(i);cancelAnimationFrame(this.ticking),this.clock=this.longest(),this.tallies=Object.fromEntries([...Object.entries(this.tallies),...this.lanes.map(i=>[i.model,et(this.tallies[i.model]??tt,i,t)])]),G(this.lanes.map(mt).join(" "))}tick(){cancelAnimationFrame(this.ticking),this.ticking=requestAnimationFrame(()=>{this.clock=performance.now(),this.isRacing&&this.tick()})}longest(){return Math.max(1,...this.lanes.map(({frames:t,endMs:e})=>e??t.at(-1)?.atMs??0))}replay(t=0){cancelAnimationFrame(this.ticking),this.isReplayed=!0,this.clock=t;let e=performance.now();const s=()=>{const n=performance.now();this.clock=Math.min(this.longest(),this.clock+(n-e)*this.speed),e=n,this.clock<this.longest()&&(this.ticking=requestAnimationFrame(s))};this.ticking=requestAnimationFrame(s)}clockOf(t){return this.isReplayed||!this.isRacing?this.clock:Math.max(0,this.clock-(this.starts[t]??1/0))}render(){return a`<h1>Race</h1>
      <p class="muted">
        One prompt, two to four models. Each clock runs from this page's request to the answer it receives.
      </p>
      ${this.form()} ${this.note===""?f:a`<p class="muted" role="status">${this.note}</p>`}
      <div class="lanes">
        ${this.lanes.map((t,e)=>a`<sf-lane
              class="card"
              .lane=${t}
              .judge=${x(this.raced)}
              .clock=${this.clockOf(e)}
              .replayed=${this.isReplayed}
              .scale=${Math.max(this.longest(),this.clockOf(e))}
            ></sf-lane>`)}
      </div>
      ${this.player()} ${this.score()}`}form(){const t=this.chosenCards()[0]?.sfumato.kinds??[],e=x(this.prompt);return a`<form
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
            <option value="" disabled selected>Training tasks</option>
            ${t.map(s=>a`<option value=${s.example}>${s.name}</option>`)}
          </select>
        </label>
        ${this.chosen.map((s,n)=>this.laneChoice(s,n))}
        ${this.chosen.length<Math.min(ct,this.cards.length)?a`<button
                type="button"
                ?disabled=${this.isRacing}
                @click=${()=>{const s=this.cards.find(({id:n})=>!this.chosen.includes(n));s!==void 0&&this.choose([...this.chosen,s.id])}}
              >
                Add a model
              </button>`:f}
        <label
          >Start
          <select
            name="start"
            ?disabled=${this.isRacing}
            @change=${s=>{this.together=s.target.value==="together",R("race.together",this.together)}}
          >
            <option value="each" .selected=${!this.together}>one after the other</option>
            <option value="together" .selected=${this.together}>all at once</option>
          </select>
        </label>
      </div>
      <p class="muted figures" style="margin: 0">
        ${this.together?"All start at once and share the machine, as simultaneous users would.":"Each model has the machine to itself, so times compare fairly."}
        ${e===null?"Answers to this prompt are not checked.":`Checked against: ${e.says}.`}
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
            max=${L}
            .value=${String(this.series)}
            ?disabled=${this.isRacing}
            @change=${s=>{const n=Math.round(s.target.valueAsNumber);this.series=Math.max(1,Math.min(L,n||1)),this.requestUpdate()}}
        /></label>
        <button
          type="button"
          ?disabled=${this.isRacing||this.chosen.length<2}
          @click=${()=>void this.race(this.series)}
        >
          Start series
        </button>
        <button type="button" ?disabled=${!this.isRacing} @click=${()=>this.stop()}>Stop</button>
        ${this.left>1?a`<span class="figures">${this.left-1} to come</span>`:f}
      </div>
    </form>`}laneChoice(t,e){const s=n=>{const i=n.target.value;this.choose(i===""?this.chosen.toSpliced(e,1):this.chosen.with(e,i))};return a`<label
      >Lane ${e+1}
      <select name=${`lane-${e+1}`} ?disabled=${this.isRacing} @change=${s} .value=${t}>
        ${this.cards.map(n=>a`<option
              value=${n.id}
              .selected=${n.id===t}
              ?disabled=${n.id!==t&&this.chosen.includes(n.id)}
            >
              ${n.id}
            </option>`)}
        ${this.chosen.length>2?a`<option value="">no model</option>`:f}
      </select>
    </label>`}player(){return this.isRacing||this.lanes.every(({endMs:t})=>t===null)?f:a`<div class="row card" role="group" aria-label="Look at it again">
      <button @click=${()=>this.replay()}>Watch again</button>
      <label class="inline"
        >Speed
        <select
          name="speed"
          @change=${t=>this.speed=Number(t.target.value)}
        >
          ${pt.map(t=>a`<option value=${t} .selected=${t===this.speed}>
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
    </div>`}score(){return Object.keys(this.tallies).length===0?f:a`<section aria-labelledby="score">
      <div class="row" style="margin-top: 1.25rem">
        <h2 id="score" style="margin: 0">Score so far</h2>
        <button class="quiet" ?disabled=${this.isRacing} @click=${()=>this.tallies={}}>Clear</button>
      </div>
      <sf-score .tallies=${this.tallies}></sf-score>
    </section>`}};c.styles=[j,D`
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
    `];d([g()],c.prototype,"place",2);d([p()],c.prototype,"cards",2);d([p()],c.prototype,"chosen",2);d([p()],c.prototype,"prompt",2);d([p()],c.prototype,"lanes",2);d([p()],c.prototype,"tallies",2);d([p()],c.prototype,"together",2);d([p()],c.prototype,"series",2);d([p()],c.prototype,"left",2);d([p()],c.prototype,"note",2);d([p()],c.prototype,"isRacing",2);d([p()],c.prototype,"speed",2);d([p()],c.prototype,"clock",2);d([p()],c.prototype,"isReplayed",2);c=d([A("sf-race-page")],c);function ut(t){const e=t.find(({capabilities:i})=>i.includes("canvas"))??t[0],n=t.find(({id:i})=>i===`${e?.id??""}-twin`)??t.find(({id:i})=>i!==e?.id);return[e,n].flatMap(i=>i===void 0?[]:[i.id])}function mt(t){const e=t.claims.at(-1),s=t.isRight===null?"no judge":t.isRight?"right":"wrong",n=e==null?"":`${q(e)}, `;return t.error===null?`${t.model}: ${n}${s}, ${u(t.endMs)}.`:`${t.model}: ${t.error}.`}export{c as RacePage};
