import{e as x,i as L,o as g,g as j,A as u,d as o,z as q,C as A,D as B,v as k,u as M,c as S,y as G,b as V,r as p}from"./index-CMMe71eo.js";import{s as I,m as C,d as P,j as R}from"./intervals-CY-SNFsX.js";import{g as Y}from"./answer-CwhH4pm4.js";import{e as E,a as H,t as J}from"./canvas-BqwZnn-S.js";import"./canvas-DwdqAIXd.js";import{k as K}from"./examples-Vs3VEqa4.js";import{M as Q}from"./models-B0BZkP56.js";import{l as Z,k as tt,t as F}from"./style-map-Dfcu4NBq.js";import"./offsets-EgNy2a1f.js";function N(t){return{model:t.id,isCanvas:t.capabilities.includes("canvas"),status:"ready",frames:[],firstMs:null,endMs:null,usage:{},claims:[],isRight:null,error:null}}async function et(t,e,i,s){if(e.loaded)return;const n=[{role:"user",content:i}],r={model:e.id,messages:n,max_tokens:1};try{await t.json("POST","/v1/chat/completions",r,s)}catch(a){if(s.aborted)throw a}}async function*st(t,e,i,s,n=()=>performance.now()){const r=n(),a=[];let l={...e,status:"running",frames:[{atMs:0,view:E("")}]};yield l;try{let h=E("");for await(const U of e.isCanvas?t.stream({model:e.model,prompt:i.text,seed:i.seed,every_step:!0},s):Y(t,it(e,i),s)){const _=n()-r;h=H(h,U);const O=h.status!=="running",y=i.judge?.claim(J(h),O)??null;(y!==null||O)&&y!==a.at(-1)&&a.push(y),l={...l,frames:[...l.frames,{atMs:_,view:h}],firstMs:l.firstMs??(h.committed>0?_:null),usage:h.ending.usage??l.usage,claims:[...a]},yield l}const b=a.at(-1)??null,v=h.status==="done",X=i.judge===null||!v?null:b!==null&&i.judge.isRight(b),z=v?null:h.ending.error?.message??"the stream ended before the answer did";yield{...l,status:v?"done":"failed",endMs:l.frames.at(-1)?.atMs??0,isRight:X,error:z}}catch(h){const b=s.aborted?"stopped":"failed",v=h instanceof Error?h.message:String(h);yield{...l,status:b,endMs:n()-r,error:s.aborted?null:v}}}function it({model:t},{text:e,seed:i}){return{model:t,messages:[{role:"user",content:e}],seed:i}}function nt(t,e){return e===null?t.frames.at(-1):t.frames.findLast(i=>i.atMs<=e)??t.frames[0]}function rt({usage:t,endMs:e}){const{completion_tokens:i}=t;return i===void 0||e===null||e===0?null:i*1e3/e}const at={races:0,judged:0,right:0,rightAtFirst:0,firstMs:[],endMs:[]};function ot(t,e,i){if(e.status!=="done")return t;const s=e.claims[0]??null,n=s!==null&&i!==null&&i.isRight(s);return{races:t.races+1,judged:t.judged+(e.isRight===null?0:1),right:t.right+(e.isRight===!0?1:0),rightAtFirst:t.rightAtFirst+(n?1:0),firstMs:e.firstMs===null?t.firstMs:[...t.firstMs,e.firstMs],endMs:e.endMs===null?t.endMs:[...t.endMs,e.endMs]}}var lt=Object.defineProperty,ct=Object.getOwnPropertyDescriptor,$=(t,e,i,s)=>{for(var n=s>1?void 0:s?ct(e,i):e,r=t.length-1,a;r>=0;r--)(a=t[r])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&lt(e,i,n),n};const ht={ready:"ready",running:"running",done:"finished",stopped:"stopped",failed:"failed"};function f(t){return t===null?"–":t<1e3?`${Math.round(t)} ms`:`${(t/1e3).toFixed(2)} s`}let m=class extends j{constructor(){super(...arguments),this.judge=null,this.kinds=[],this.clock=0,this.replayed=!1,this.scale=1}render(){const{lane:t,clock:e}=this,i=t.endMs!==null&&(!this.replayed||e>=t.endMs),s=nt(t,this.replayed?e:null),n=t.status==="ready"||t.error!==null?null:i?t.endMs:e,r=l=>`${Math.min(100,100*l/this.scale).toFixed(2)}%`,{firstMs:a}=t;return o`
      <header>
        <h2>
          ${t.model}
          <span class="muted figures"
            >${t.isCanvas?"revises in place":"writes token after token"}</span
          >
        </h2>
        <span class="clock" aria-label=${`Clock: ${f(n)}, ${ht[t.status]}`} role="img"
          >${f(n)}</span
        >
      </header>
      <div class="track" aria-hidden="true">
        <div class="run" style=${`width: ${r(n??0)}`}></div>
        ${a!==null&&n!==null&&n>=a?o`<div class="first" style=${`left: min(${r(a)}, 100% - 2px)`}></div>`:u}
      </div>
      ${t.error===null?u:o`<div class="failed">
              <p class="error">${q(t.error)}</p>
              <sf-examples .kinds=${this.kinds}></sf-examples>
            </div>`}
      <sf-canvas
        ?hidden=${t.error!==null&&(s?.view.tokens??[]).length===0}
        label=${`Text of ${t.model}`}
        .tokens=${s?.view.tokens??[]}
        .clock=${s?.view.clock??0}
      ></sf-canvas>
      <div>
        ${this.verdict(i)}
        <dl class="figures">
          ${this.figures(s?.view.clock??0,i).map(([l,h])=>o`<div>
                <dt>${l}</dt>
                <dd>${h}</dd>
              </div>`)}
        </dl>
      </div>
    `}figures(t,e){const{lane:i}=this,{usage:s}=i,n=l=>l===void 0||!e?"–":l.toLocaleString("en"),r=e?rt(i):null,a=!this.replayed||this.clock>=(i.firstMs??1/0);return[["first committed",f(a?i.firstMs:null)],["total",f(e&&i.status==="done"?i.endMs:null)],["steps",e||!i.isCanvas?n(s.denoising_steps):String(t)],["forward passes",n(s.forward_passes)],["positions",n(s.positions_computed)],["revisions",n(s.revisions)],["tokens",n(s.completion_tokens)],["tokens/s",r===null?"–":Math.round(r).toLocaleString("en")]]}verdict(t){const{lane:e,judge:i}=this;if(e.error!==null)return u;if(!t)return o`<p class="verdict"></p>`;if(e.status==="stopped")return o`<p class="verdict muted">Stopped.</p>`;if(i===null||e.isRight===null)return o`<p class="verdict muted">Not checked.</p>`;const s=e.claims.map(l=>l===null?"no answer":I(l)),n=s.length<2?"":` (in drafts: ${s.slice(0,-1).join(", ")})`,r=`${s.at(-1)??"no answer"}${n}`,a=i.truth===null?"":` It is ${i.truth}.`;return e.isRight?o`<p class="verdict right">✓ Right: ${r}</p>`:o`<p class="verdict error">✗ Wrong: ${r}.${a}</p>`}};m.styles=[x,L`
      :host {
        display: grid;
        align-content: start;
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
        /* Also where it has a line of its own. */
        margin-left: auto;
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
      .failed p {
        margin: 0;
      }
      .failed {
        display: grid;
        gap: 0.5rem;
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
    `];$([g({attribute:!1})],m.prototype,"lane",2);$([g({attribute:!1})],m.prototype,"judge",2);$([g({attribute:!1})],m.prototype,"kinds",2);$([g({type:Number})],m.prototype,"clock",2);$([g({type:Boolean})],m.prototype,"replayed",2);$([g({type:Number})],m.prototype,"scale",2);m=$([A("sf-lane")],m);var dt=Object.defineProperty,pt=Object.getOwnPropertyDescriptor,T=(t,e,i,s)=>{for(var n=s>1?void 0:s?pt(e,i):e,r=t.length-1,a;r>=0;r--)(a=t[r])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&dt(e,i,n),n};let w=class extends j{constructor(){super(...arguments),this.tallies={}}render(){return o`<div class="scroll" role="region" aria-label="Score" tabindex="0">
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
          ${Object.entries(this.tallies).map(([t,e])=>o`<tr>
                <th scope="row">${t}</th>
                <td>${e.judged===0?"no judge":`${e.right} of ${e.judged}`}</td>
                <td>${e.judged===0?"–":`${e.rightAtFirst} of ${e.judged}`}</td>
                <td>${f(C(e.firstMs))}</td>
                <td>${f(C(e.endMs))}</td>
                <td>${e.races}</td>
              </tr>`)}
        </tbody>
      </table>
    </div>`}};w.styles=[x,B];T([g({attribute:!1})],w.prototype,"tallies",2);w=T([A("sf-score")],w);const ut=L`
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
  .row.level {
    align-items: center;
  }
  .row > label,
  .lane label {
    min-width: 8rem;
  }
  .lane {
    display: flex;
    align-items: end;
  }
  .lane button {
    padding-inline: 0.5rem;
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
`;var mt=Object.defineProperty,ft=Object.getOwnPropertyDescriptor,d=(t,e,i,s)=>{for(var n=s>1?void 0:s?ft(e,i):e,r=t.length-1,a;r>=0;r--)(a=t[r])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&mt(e,i,n),n};const gt=4,D=1e3,$t=2**31,W="answer, then derive: ",vt=[W,"derive, then answer: "],bt=[1,.25,.05,.01];let c=class extends j{constructor(){super(...arguments),this.place="",this.chosen=[k("race.models",[])].flat(),this.prompt=k("race.prompt","")||W+P(),this.lanes=[],this.tallies={},this.together=k("race.together",!1),this.series=10,this.left=0,this.note="",this.isRacing=!1,this.speed=.05,this.clock=0,this.isReplayed=!1,this.models=new Q(this,()=>!0,t=>this.begin(t)),this.raced="",this.starts=[],this.stopping=new AbortController,this.ticking=0}begin(t){const e=this.chosen.filter(n=>this.models.find(n)!==void 0);if(e.length>1){this.choose(e);return}const{prompt:i,ids:s}=Z(t,this.prompt);this.prompt=i,this.choose(s)}disconnectedCallback(){super.disconnectedCallback(),this.stop(),cancelAnimationFrame(this.ticking)}choose(t){this.chosen=t,this.lanes=this.chosenCards().map(N),this.isReplayed=!1,this.clock=0,t.length>0&&M("race.models",t)}get cards(){return this.models.cards??[]}chosenCards(){return this.chosen.flatMap(t=>this.models.find(t)??[])}stop(){this.left=0,this.stopping.abort()}drawn(){return vt.find(t=>this.prompt.startsWith(t))}next(){const t=this.drawn();t!==void 0&&(this.prompt=t+P())}async race(t){if(!(this.isRacing||this.prompt.trim()==="")){this.isRacing=!0,this.left=t,this.stopping=new AbortController;try{for(const e of this.chosenCards().filter(({loaded:i})=>!i))this.note=`Opening ${e.id} …`,await et(S,e,this.prompt,this.stopping.signal);for(this.models.cards=this.cards.map(e=>this.chosen.includes(e.id)?{...e,loaded:!0}:e),this.note="";this.left>0;)await this.raceOnce(),this.left=Math.max(0,this.left-1),this.lanes.some(({status:e})=>e==="failed")&&(this.left=0),this.left>0&&this.next()}catch(e){G(e)}finally{this.note="",this.left=0,this.isRacing=!1}}}async raceOnce(){const t=R(this.prompt),e={text:this.prompt,seed:Math.floor(Math.random()*$t),judge:t};this.raced=this.prompt,M("race.prompt",this.prompt),this.lanes=this.chosenCards().map(N),this.starts=this.lanes.map(()=>1/0),this.isReplayed=!1;const i=async r=>{this.starts[r]=performance.now();const a=this.lanes[r];if(a!==void 0)for await(const l of st(S,a,e,this.stopping.signal))this.lanes=this.lanes.with(r,l)};this.tick();const s=this.lanes.map((r,a)=>a);if(this.together)await Promise.all(s.map(i));else for(const r of s)this.stopping.signal.aborted||await i(r);cancelAnimationFrame(this.ticking),this.clock=this.longest();const n=this.lanes.filter(({status:r})=>r==="done");this.tallies=Object.fromEntries([...Object.entries(this.tallies),...n.map(r=>[r.model,ot(this.tallies[r.model]??at,r,t)])]),V(this.lanes.map(wt).join(" "))}tick(){cancelAnimationFrame(this.ticking),this.ticking=requestAnimationFrame(()=>{this.clock=performance.now(),this.isRacing&&this.tick()})}longest(){return Math.max(1,...this.lanes.map(({frames:t,endMs:e})=>e??t.at(-1)?.atMs??0))}replay(t=0){cancelAnimationFrame(this.ticking),this.isReplayed=!0,this.clock=t;let e=performance.now();const i=()=>{const s=performance.now();this.clock=Math.min(this.longest(),this.clock+(s-e)*this.speed),e=s,this.clock<this.longest()&&(this.ticking=requestAnimationFrame(i))};this.ticking=requestAnimationFrame(i)}clockOf(t){return this.isReplayed||!this.isRacing?this.clock:Math.max(0,this.clock-(this.starts[t]??1/0))}render(){const t=this.models.notice("This server has no models; start it with two: sfumato serve tiny tiny-twin");return t!==u?o`<h1>Race</h1>
        ${t}`:o`<h1>Race</h1>
      <p class="muted">
        One prompt, two to four models. Each clock runs from this page's request to the answer it receives.
      </p>
      ${this.form()} ${this.note===""?u:o`<p class="muted" role="status">${this.note}</p>`}
      <div class="lanes">
        ${this.lanes.map((e,i)=>o`<sf-lane
              class="card"
              .lane=${e}
              .judge=${R(this.raced)}
              .kinds=${this.isRacing?[]:tt(this.models.find(e.model),this.raced)}
              @sf-example=${({detail:s})=>this.prompt=s}
              .clock=${this.clockOf(i)}
              .replayed=${this.isReplayed}
              .scale=${Math.max(this.longest(),this.clockOf(i))}
            ></sf-lane>`)}
      </div>
      ${this.player()} ${this.score()}`}form(){const t=this.chosenCards()[0]?.sfumato.kinds??[],e=R(this.prompt),i=this.chosenCards().filter(s=>!F(s,this.prompt));return o`<form
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
            ${t.map(s=>o`<option value=${s.example}>${K(s)}</option>`)}
          </select>
        </label>
        ${this.chosen.map((s,n)=>this.laneChoice(s,n))}
        ${this.chosen.length<Math.min(gt,this.cards.length)?o`<button
                type="button"
                ?disabled=${this.isRacing}
                @click=${()=>{const s=this.cards.filter(({id:r})=>!this.chosen.includes(r)),n=s.find(r=>F(r,this.prompt))??s[0];n!==void 0&&this.choose([...this.chosen,n.id])}}
              >
                Add a model
              </button>`:u}
        <label
          >Start
          <select
            name="start"
            ?disabled=${this.isRacing}
            @change=${s=>{this.together=s.target.value==="together",M("race.together",this.together)}}
          >
            <option value="each" .selected=${!this.together}>one after the other</option>
            <option value="together" .selected=${this.together}>all at once</option>
          </select>
        </label>
      </div>
      <p class="muted figures" style="margin: 0">
        ${this.together?"All start at once and share the machine, as simultaneous users would.":"Each model has the machine to itself, so times compare fairly."}
        ${e===null?"Answers to this prompt are not checked.":`Checked against: ${e.says}.`}
        ${i.map(({id:s})=>`${s} was not trained on such prompts.`).join(" ")}
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
            max=${D}
            .value=${String(this.series)}
            ?disabled=${this.isRacing}
            @change=${s=>{const n=Math.round(s.target.valueAsNumber);this.series=Math.max(1,Math.min(D,n||1)),this.requestUpdate()}}
        /></label>
        <button
          type="button"
          ?disabled=${this.isRacing||this.chosen.length<2}
          @click=${()=>void this.race(this.series)}
        >
          Start series
        </button>
        <button type="button" ?disabled=${!this.isRacing} @click=${()=>this.stop()}>Stop</button>
        ${this.left>1?o`<span class="figures">${this.left-1} to come</span>`:u}
      </div>
    </form>`}laneChoice(t,e){const i=n=>{const r=n.target.value;this.choose(this.chosen.with(e,r))},s=o`<label
      >Lane ${e+1}
      <select name=${`lane-${e+1}`} ?disabled=${this.isRacing} @change=${i} .value=${t}>
        ${this.cards.map(n=>o`<option
              value=${n.id}
              .selected=${n.id===t}
              ?disabled=${n.id!==t&&this.chosen.includes(n.id)}
            >
              ${n.id}
            </option>`)}
      </select>
    </label>`;return this.chosen.length<3?s:o`<span class="lane"
      >${s}<button
        type="button"
        class="quiet"
        aria-label=${`Remove ${t}`}
        title="Remove this lane"
        ?disabled=${this.isRacing}
        @click=${()=>this.choose(this.chosen.toSpliced(e,1))}
      >
        ✕
      </button></span
    >`}player(){return this.isRacing||this.lanes.every(({endMs:t})=>t===null)?u:o`<div class="row card level" role="group" aria-label="Look at it again">
      <button @click=${()=>this.replay()}>Watch again</button>
      <label class="inline"
        >Speed
        <select
          name="speed"
          @change=${t=>this.speed=Number(t.target.value)}
        >
          ${bt.map(t=>o`<option value=${t} .selected=${t===this.speed}>
                ${t===1?"as it was":`1/${1/t}`}
              </option>`)}
        </select>
      </label>
      <input
        type="range"
        aria-label="Time"
        aria-valuetext=${f(this.clock)}
        min="0"
        max=${this.longest()}
        step="any"
        .value=${String(this.clock)}
        @input=${t=>{cancelAnimationFrame(this.ticking),this.isReplayed=!0,this.clock=t.target.valueAsNumber}}
      />
    </div>`}score(){return Object.keys(this.tallies).length===0?u:o`<section aria-labelledby="score">
      <div class="row level" style="margin-top: 1.25rem">
        <h2 id="score" style="margin: 0">Score so far</h2>
        <button class="quiet" ?disabled=${this.isRacing} @click=${()=>this.tallies={}}>Clear</button>
      </div>
      <sf-score .tallies=${this.tallies}></sf-score>
    </section>`}};c.styles=[x,ut];d([g()],c.prototype,"place",2);d([p()],c.prototype,"chosen",2);d([p()],c.prototype,"prompt",2);d([p()],c.prototype,"lanes",2);d([p()],c.prototype,"tallies",2);d([p()],c.prototype,"together",2);d([p()],c.prototype,"series",2);d([p()],c.prototype,"left",2);d([p()],c.prototype,"note",2);d([p()],c.prototype,"isRacing",2);d([p()],c.prototype,"speed",2);d([p()],c.prototype,"clock",2);d([p()],c.prototype,"isReplayed",2);c=d([A("sf-race-page")],c);function wt(t){const e=t.claims.at(-1),i=t.isRight===null?"no judge":t.isRight?"right":"wrong",s=e==null?"":`${I(e)}, `;return t.error===null?`${t.model}: ${s}${i}, ${f(t.endMs)}.`:`${t.model}: ${q(t.error)}`}export{c as RacePage};
