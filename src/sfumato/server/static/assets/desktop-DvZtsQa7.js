import{s as R,c as tt,l as ot,u as k,v as W,t as x,b as gt,q as K,L as rt,e as vt,i as bt,n as X,g as yt,d as w,w as kt,A as U,r as At}from"./index-w1r07zwS.js";import{c as Ot}from"./repeat-CxzCxzb_.js";import{t as Lt}from"./canvas-BqwZnn-S.js";import{p as Nt,g as Ft,n as Ct,c as E}from"./steps-mb0g5HZU.js";import{p as j,P as xt,t as F,n as _t,c as jt,w as Dt,a as B,g as L,s as Y,b as Pt,U as Wt,o as Ut,N as It,e as Rt}from"./screen-CkAQ9J37.js";import{b as Kt}from"./encyclopedia-sWFQacrv.js";import{p as qt,k as zt,w as Xt}from"./prose-CqmwB3qW.js";import{u as Ht,a as Gt}from"./keys-Bvww4gEl.js";import"./offsets-EgNy2a1f.js";import"./answer-cB1GQBkS.js";import"./take-CQ2PI15A.js";import"./live-CVtwpgE-.js";const et=[{name:"Files",sentence:"",own:"files"},{name:"Terminal",sentence:"",own:"terminal"},{name:"Settings",sentence:"",own:"settings"}],Bt=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}];function Yt(){return{windows:[],next:1}}function $t(t,e,s){const n=Math.min(420,s-32),o=Math.max(1,Math.floor((s-32)/(n+16))),[i,r]=[(t.next-1)%o,Math.floor((t.next-1)/o)%5],a={x:16+i*(n+16)+24*r,y:16+40*r,width:n,height:440},d={id:t.next,app:e,place:a,isMinimised:!1,pages:Ct(),draft:null,isWriting:!1,error:""};return{windows:[...t.windows,d],next:t.next+1}}function g(t,e,s){return{...t,windows:t.windows.map(n=>n.id===e?{...n,...s}:n)}}function J(t,e){const s=t.windows.find(n=>n.id===e);return s===void 0||t.windows.at(-1)===s?t:{...t,windows:[...t.windows.filter(n=>n!==s),s]}}function at(t,e){return{...t,windows:t.windows.filter(s=>s.id!==e)}}function q(t,e,s){const n=t.windows.find(o=>o.id===e);return n===void 0?t:g(t,e,{pages:Nt(n.pages,s),error:""})}function Jt(t,e,s){const n=t.windows.find(o=>o.id===e);return n===void 0?t:g(t,e,{pages:Ft(n.pages,s)})}function Vt(t){return t.windows.flatMap(({app:e,place:s,isMinimised:n,pages:o})=>{const i=o.all[o.at];return i===void 0?[]:[{app:e,place:s,isMinimised:n,page:F(i)}]})}function Qt(t){let e=Yt();for(const s of Array.isArray(t)?t:[]){const{app:n,place:o,isMinimised:i,page:r}=s??{},{name:a,sentence:d,own:l,path:u}=n??{},h=Object.values(o??{});if(!(typeof a!="string"||typeof d!="string"||typeof r!="string")&&!(h.length!==4||!h.every(Number.isFinite)))try{const c=e.next,f={name:a,sentence:d,...l&&{own:l},...u&&{path:u}};e=q($t(e,f,1e3),c,j(r)),e=g(e,c,{place:o,isMinimised:i===!0})}catch(c){if(!(c instanceof xt))throw c}}return e}class p extends Error{constructor(){super(...arguments),this.name="FileError"}}const dt=60,Mt=60,ct=2e4,Zt=/^[\p{L}\p{N}_.-](?: ?[\p{L}\p{N}_.,()-]){0,31}$/u,ht={files:[{path:"readme.txt",text:`Files stay in this browser.
Open one to edit it, or use the terminal: help lists its commands.
`},{path:"shopping.txt",text:`bread
butter
apples
`},{path:"documents/plan.txt",text:`1. Pack the books
2. Cancel the internet
3. Hire a van
`}],folders:["documents"],trash:[]};function m(t){const e=t.trim().replace(/^\.?\//,"").split("/");if(e.length>2)throw new p(`“${t}” is too deep: folders hold files only, as in documents/plan.txt`);for(const s of e)if(!(Zt.test(s)&&!/^\.+$/.test(s)))throw new p(s===""?"A file needs a name, such as notes.txt":`“${s}” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )`);return e.join("/")}const D=t=>t.split("/").slice(0,-1).join("/"),S=t=>t.split("/").at(-1)??"";function v(t,e){return t.files.find(s=>s.path===e)}function P(t,e,s=t.folders){if(e.length>dt)throw new p(`This desktop holds up to ${dt} files; delete one first`);const n=new Set;for(const{path:r,text:a}of e){if(n.has(r))throw new p(`“${r}” exists already; choose another name`);if(a.length>ct)throw new p(`“${r}” would have ${a.length} characters; up to ${ct} fit`);n.add(r)}const o=[...new Set([...s,...e.map(({path:r})=>D(r))])].filter(r=>r!==""),i=o.find(r=>n.has(r));if(i!==void 0)throw new p(`“${i}” exists already; choose another name`);return{...t,files:e,folders:o}}function T(t,e,s){const n=m(e),o=v(t,n)===void 0?[...t.files,{path:n,text:s}]:t.files.map(i=>i.path===n?{path:n,text:s}:i);return P(t,o)}function Et(t,e){const s=m(e),n=i=>i.path===s||D(i.path)===s,o=t.files.filter(n);if(o.length===0&&!t.folders.includes(s))throw new p(`There is no file “${s}”`);return{files:t.files.filter(i=>!n(i)),folders:t.folders.filter(i=>i!==s),trash:[...o,...t.trash].slice(0,Mt)}}function Tt(t,e,s){const[n,o]=[m(e),m(s)];if(v(t,n)===void 0)throw new p(`There is no file “${n}”`);return P(t,t.files.map(i=>i.path===n?{...i,path:o}:i))}function te(t,e){const s=m(e);if(D(s)!=="")throw new p("Folders hold files only; make it beside the others");return P(t,t.files,[...t.folders,s])}function ee(t){const{files:e,folders:s,trash:n}=t??{},o=a=>{const{path:d,text:l}=a??{};return typeof d=="string"&&typeof l=="string"};if(!Array.isArray(e)||!e.every(o)||!Array.isArray(s))return ht;const i=s.filter(a=>typeof a=="string"),r=Array.isArray(n)?n.filter(o):[];try{return P({files:e,folders:i,trash:r},e)}catch{return ht}}const se=j(`a page: Files
 b header: Files
 c list
 d row
  e input: New file
  f button: Create`);function C(t){const e=new Map,s=(n,o)=>{for(const i of n.children)n.kind==="list"?e.set(i.id,o+i.text):s(i,nt(i)?`${i.text}/`:o)};return s(t,""),e}function nt({kind:t}){return t==="card"}function ne(t,e,s){const[n,o]=[C(e),C(s)],i=new Set([...n].filter(([h])=>!o.has(h)).map(([,h])=>h)),r=new Map([...n].map(([h,c])=>[c,o.get(h)??c])),a=[...t.files.filter(({path:h})=>i.has(h)),...t.trash],d=t.files.filter(({path:h})=>!i.has(h)).map(({path:h,text:c})=>({path:m(r.get(h)??h),text:c})),l=[...o].filter(([h])=>!n.has(h)).map(([,h])=>({path:m(h),text:a.find(c=>c.path===h)?.text??""})),u=[...Dt(s)].filter(nt).map(({text:h})=>m(h));return P({...t,trash:a.slice(0,Mt)},[...d,...l],u)}function ie(t,e,s){const n=({path:i})=>t.toLowerCase().includes(S(i).toLowerCase());return e.files.some(n)?e.files.filter(({path:i})=>v(s,i)===void 0).filter(i=>!n(i)).map(({path:i})=>i):[]}function st(t,e=se){const s=new Map([...C(e)].map(([c,f])=>[f,c])),n=[..._t(e,t.files.length+2*t.folders.length+1)],o=()=>n.shift()??"",i=(c,f,y=[],$=o())=>({id:$,kind:c,words:[],text:f,cells:[],children:y}),r=(c,f)=>{const y=t.files.map(({path:b})=>b).filter(b=>D(b)===f),$=f===""?"":`${f}/`,O=c.children.filter(({kind:b,text:G})=>b==="item"&&y.includes($+G)),M=y.filter(b=>!O.some(({text:G})=>$+G===b));if(M.length===0&&O.length===c.children.length)return c;const St=M.map(b=>i("item",S(b),[],s.get(b)));return{...c,children:[...O,...St]}},a=(c,f)=>{const y=c.children.find(({kind:M})=>M==="list"),$=r(y??i("list",""),f),O=y===void 0?[...c.children,$]:c.children.map(M=>M===y?$:M);return{...c,children:O}},d=[];let l=!1;const u=new Set(t.folders);for(const c of e.children)c.kind==="list"&&!l?(l=!0,d.push(r(c,""))):nt(c)?u.delete(c.text)&&d.push(a(c,c.text)):d.push(c);l||d.push(r(i("list",""),""));for(const c of u)d.push(a(i("card",c),c));const h=jt({...e,children:d});return F(h)===F(e)?e:h}function lt(t,e){const[s,n,...o]=t;if(s===void 0||n===void 0||o.length>0)throw new p(`Usage: ${e}`);return[s,n]}function N(t,e){const[s]=t;if(s===void 0||t.length>1)throw new p(`Usage: ${e}`);return s}function pt(t,e,s){const n=m(s.replace(/\/$/,""));return t.folders.includes(n)?`${n}/${S(e)}`:n}function V(t,e){const s=v(t,m(e));if(s===void 0)throw new p(`There is no file “${e}”; ls lists them`);return s.text}function oe(t,e){const s=e===void 0?"":m(e.replace(/\/$/,""));if(s!==""&&!t.folders.includes(s))throw new p(`There is no folder “${s}”`);const n=t.files.filter(({path:i})=>D(i)===s).map(({path:i})=>S(i));return[...s===""?t.folders.map(i=>`${i}/`):[],...n.sort()].join(`
`)||"Nothing in here."}const z={ls:{usage:"ls [folder]",does:"list files",run:(t,[e])=>({said:oe(t,e)})},cat:{usage:"cat file",does:"show a file",run:(t,e)=>({said:V(t,N(e,"cat file"))})},echo:{usage:"echo text > file",does:"write a file; >> adds a line to it",run:(t,e)=>({said:e.join(" ")})},touch:{usage:"touch file",does:"make an empty file",run:(t,e)=>{const s=m(N(e,"touch file"));return v(t,s)===void 0?{system:T(t,s,"")}:{}}},mkdir:{usage:"mkdir folder",does:"make a folder",run:(t,e)=>({system:te(t,N(e,"mkdir folder"))})},mv:{usage:"mv file file",does:"rename or move a file",run:(t,e)=>{const[s,n]=lt(e,"mv file file");return{system:Tt(t,s,pt(t,s,n))}}},cp:{usage:"cp file file",does:"copy a file",run:(t,e)=>{const[s,n]=lt(e,"cp file file"),o=pt(t,s,n);if(v(t,o)!==void 0)throw new p(`“${o}” exists already; choose another name`);return{system:T(t,o,V(t,s))}}},rm:{usage:"rm file",does:"delete a file or a folder",run:(t,e)=>({system:Et(t,N(e,"rm file").replace(/\/$/,""))})},open:{usage:"open name",does:"open a file or an app in a window",run:(t,e,{apps:s})=>{const n=e.join(" "),o=s.find(i=>i.toLowerCase()===n.toLowerCase());return o===void 0&&V(t,N([n],"open name")),{opens:o??m(n)}}},clicks:{usage:"clicks",does:"show the last clicks, as they were sent",run:(t,e,{clicks:s})=>({said:s.map(n=>JSON.stringify(n)).join(`
`)||"No click yet."})},clear:{usage:"clear",does:"empty the terminal",run:()=>({clears:!0})},help:{usage:"help",does:"show this list",run:()=>({said:re()})}};function re(){const t=Math.max(...Object.values(z).map(({usage:s})=>s.length))+2;return[...Object.values(z).map(({usage:s,does:n})=>s.padEnd(t)+n),"Anything else is passed to a language model."].join(`
`)}const ae=new Set("bash cd chmod chown curl git grep kill man nano npm pip ps pwd python python3 ssh sudo vi vim wget whoami".split(" "));function Q(t){return[...t.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([,e,s,n])=>e??s??n??"")}function de(t,e,s){const[n="",...o]=Q(e),i=Object.hasOwn(z,n)?z[n]:void 0;if(i===void 0&&ae.has(n))return{system:t,said:`There is no command ${n}; help lists them.`};if(i===void 0)return{system:t,said:"",isForModel:!0};try{const r=/^echo\s+(.*?)\s*(>>?)\s*(\S.*)$/s.exec(e.trim());if(r===null)return{system:t,said:"",...i.run(t,o,s)};const[,a="",d,l=""]=r,u=m(Q(l).join(" ")),h=d===">>"?v(t,u)?.text??"":"";return{system:T(t,u,`${h}${Q(a).join(" ")}
`),said:""}}catch(r){if(!(r instanceof p))throw r;return{system:t,said:`${r.message}.`}}}function I(t,e){return[...t,e].slice(-100)}function ce(t){return t.length===0?"Type a command and press Enter; help lists them.":t.flatMap(({line:e,said:s,by:n})=>[`$ ${e}`,...n===""?[]:[`${n} answers:`],s.trimEnd()]).filter(e=>e!=="").join(`
`)}function he(t){return(Array.isArray(t)?t:[]).filter(e=>{const{line:s,said:n,by:o}=e??{};return[s,n,o].every(i=>typeof i=="string")})}const Z="automatic",le=j(`a page dark
 b text: Terminal
 c input: Command`),pe=j(`a page
 b input: Name
 c input: Text
 d button: Delete`),ut=j(["a page",` b select: Theme | ${rt.theme.join(" | ")}`,` c select: Text size | ${rt.text.join(" | ")}`," d checkbox: Reduce motion"," e divider"," f select: Screens by | automatic"," g slider 16: Steps for a screen"," h select: Answers by | automatic"].join(`
`));class ue{constructor(e){this.host=e,this.cards=null,this.system=ee(R("desktop.files",null)),this.clicks=[],this.turns=he(R("desktop.terminal",[])),this.choices={author:"",answerer:"",steps:null,...R("desktop.choices",{})},this.drafts=new Map,this.stopping=new AbortController,this.lastLine=Promise.resolve(),this.asked=0,e.addController(this)}hostDisconnected(){this.stopping.abort()}async begin(){this.cards=await tt.models(),this.host.requestUpdate()}get author(){const e=B(this.cards??[]);return e.find(({id:s})=>s===this.choices.author)??e[0]}get steps(){return this.choices.steps??void 0}isWriting({own:e,path:s=""}){return(e==="terminal"||e==="file")&&this.drafts.has(s)}stop(){this.stopping.abort()}page({own:e}){if(e==="files")return st(this.system);if(e!=="settings")return e==="terminal"?le:pe;const s=this.choices.steps??this.author?.sfumato.steps??16,n={d:ot().motion==="reduced"?["on"]:[],g:[String(Math.min(100,s))]},o=ut.children.map(i=>({...i,words:Object.hasOwn(n,i.id)?n[i.id]:i.words}));return{...ut,children:o}}bound({own:e,path:s=""},n){const o=this.drafts.get(s);if(e==="files")return Object.fromEntries([...C(n).keys()].map(d=>[d,{opens:!0}]));if(e==="terminal")return{b:{value:ce(this.turns)+(o===void 0?"":`
${o}`)}};if(e==="file"){const d=o??v(this.system,s)?.text??"";return{b:{value:s},c:{value:d,isLong:!0,isReadonly:o!==void 0}}}const{theme:i,text:r}=ot(),a=(d,l)=>({options:[Z,...d.map(({id:u})=>u)],value:l===""?Z:l});return{b:{value:i},c:{value:r},f:a(B(this.cards??[]),this.choices.author),h:a(this.answerers(),this.choices.answerer)}}click({own:e,path:s=""},n,o){this.clicks=[...this.clicks,o].slice(-8);const{element:i,type:r,value:a}=o;if(e==="files"&&r==="open")this.host.openNamed(C(n).get(i)??a);else if(e==="terminal"&&r==="enter")this.lastLine=this.lastLine.then(()=>this.enter(a)).catch(k);else if(e==="settings"&&r==="choose")i==="b"?W({theme:a}):i==="c"?W({text:a}):this.choose({[i==="f"?"author":"answerer"]:a===Z?"":a});else if(e==="file"&&r==="input"&&i==="b")this.attempt(()=>this.change(Tt(this.system,s,a)));else if(e==="file"&&r==="input")this.attempt(()=>this.change(T(this.system,s,a)));else if(e==="file"&&r==="press"){const d=this.system;this.change(Et(d,s)),this.sayDeleted(d,this.system)}else return!1;return this.host.requestUpdate(),!0}take({own:e},s,n,{sentence:o="",show:i}){if(e==="files"){const[h,c]=[this.system,ne(this.system,s,n)],[f]=ie(o,h,c);if(f!==void 0)throw new p(`The model would have changed “${f}”, which you did not name; nothing was done`);i(st(c,n)),this.change(c),this.sayDeleted(h,c);return}if(i(n),e!=="settings")return;const r=L(n,"theme");r!==L(s,"theme")&&W({theme:r==="dark"?"dark":"light"});const[a,d]=[Y(n,"d"),Y(n,"g")];a!==void 0&&W({motion:L(a,"on")===void 0?"system":"reduced"});const l=d===void 0?void 0:L(d,"value"),u=Y(s,"g");l!==void 0&&(u===void 0||L(u,"value")!==l)&&this.choose({steps:Math.max(1,Number(l))})}async write(e,s){const n=v(this.system,e)?.text??"",o=this.answererOf(s);if(o===void 0){x(this.refusal());return}const i=o.sfumato.kinds.length>0,r=i||n.trim()===""?s:Kt(n,s);try{const a=await this.answer(e,o,r,[]),d=i&&n.trim()!==""?`${n.trimEnd()}
${a}
`:`${a}
`;this.change(T(this.system,e,d));const l=()=>this.attempt(()=>this.change(T(this.system,e,n)));x(`Written by ${o.id}. Nobody checked it.`,{label:"Undo",run:l})}catch(a){k(a)}}sayDeleted(e,s){if(s.files.length>=e.files.length)return;const n=e.files.filter(({path:i})=>v(s,i)===void 0),o=()=>{this.change(n.reduce((i,{path:r,text:a})=>T(i,r,a),this.system))};x(`Deleted: ${n.map(({path:i})=>i).join(", ")}.`,{label:"Undo",run:()=>this.attempt(o)})}async enter(e){if(e.trim()==="")return;const s=et.map(({name:d})=>d),{system:n,said:o,opens:i,clears:r,isForModel:a}=de(this.system,e,{clicks:this.clicks,apps:s});n!==this.system&&this.change(n),r===!0?this.setTurns([]):a===!0?await this.reply(e.trim()):this.setTurns(I(this.turns,{line:e.trim(),said:o,by:""})),i!==void 0&&this.host.openNamed(i)}async reply(e){const s=this.answererOf(e);if(s===void 0){this.setTurns(I(this.turns,{line:e,said:this.refusal(),by:""}));return}const n=this.turns;this.setTurns(I(n,{line:e,said:"",by:s.id}));const o=n.filter(({by:r})=>r!=="").slice(-3).flatMap(({line:r,said:a})=>[{role:"user",content:r},{role:"assistant",content:a}]);let i="";try{i=await this.answer("",s,e,o)}catch(r){i=this.stopping.signal.aborted?"Stopped.":`No answer: ${r.message}.`}this.setTurns(I(n,{line:e,said:i,by:s.id})),gt(i)}async answer(e,s,n,o){this.stopping=new AbortController;const i=r=>{const a=[...this.drafts].filter(([d])=>d!==e);this.drafts=new Map(r===null?a:[...a,[e,r]]),this.host.requestUpdate()};i("");try{return await qt(tt,s,n,{turns:o,seed:this.asked++,signal:this.stopping.signal,onView:r=>i(Lt(r))})}finally{i(null)}}answerers(){return(this.cards??[]).filter(e=>e.capabilities.includes("chat")&&!B([e]).includes(e))}answererOf(e){const s=this.answerers();return s.find(({id:n})=>n===this.choices.answerer)??zt(s,e)??Xt(s)[0]}refusal(){const e=this.answerers().find(({sfumato:i})=>i.kinds.length>0),s=(e?.sfumato.kinds??[]).map(({example:i})=>i),[n]=s.sort((i,r)=>i.length-r.length);return`No model on this server can write that.${e===void 0||n===void 0?"":` ${e.id} only answers what it was trained on, such as “${n}”.`} For free text, restart it with a language model: sfumato serve ui smollm2-135m-instruct`}attempt(e){try{e()}catch(s){k(s)}}change(e){const s=this.system;this.system=e,K("desktop.files",e),this.host.onFiles(s,e),this.host.requestUpdate()}choose(e){this.choices={...this.choices,...e},K("desktop.choices",this.choices)}setTurns(e){this.turns=e,K("desktop.terminal",e),this.host.requestUpdate()}}var fe=Object.defineProperty,me=Object.getOwnPropertyDescriptor,H=(t,e,s,n)=>{for(var o=n>1?void 0:n?me(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(o=(n?r(e,s,o):r(o))||o);return n&&o&&fe(e,s,o),o};const ft=24,mt={width:240,height:160};let A=class extends yt{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1}updated(){const{x:t,y:e,width:s,height:n}=this.place;Object.assign(this.style,{left:`${t}px`,top:`${e}px`,width:`${s}px`,height:`${n}px`})}send(t){this.dispatchEvent(new CustomEvent("sf-window",{detail:t,bubbles:!0,composed:!0}))}change(t){const e={...this.place,...t},s={x:Math.max(0,e.x),y:Math.max(0,e.y),width:Math.max(mt.width,e.width),height:Math.max(mt.height,e.height)};this.dispatchEvent(new CustomEvent("sf-place",{detail:s,bubbles:!0,composed:!0}))}drag(t,e){if(t.target instanceof HTMLButtonElement&&t.target!==t.currentTarget)return;this.send("front");const[s,n]=[this.place,t.currentTarget];n.setPointerCapture(t.pointerId);const o=r=>this.change(e({x:r.clientX-t.clientX,y:r.clientY-t.clientY},s));n.addEventListener("pointermove",o);const i=()=>n.removeEventListener("pointermove",o);n.addEventListener("pointerup",i,{once:!0}),n.addEventListener("pointercancel",i,{once:!0})}onKey(t){const e={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[t.key];if(e===void 0||t.target!==t.currentTarget)return;const[s,n]=[(e[0]??0)*ft,(e[1]??0)*ft],{x:o,y:i,width:r,height:a}=this.place;this.change(t.shiftKey?{width:r+s,height:a+n}:{x:o+s,y:i+n}),t.preventDefault()}render(){return w`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @pointerdown=${t=>{this.drag(t,(e,s)=>({x:s.x+e.x,y:s.y+e.y}))}}
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
        @pointerdown=${t=>{this.drag(t,(e,s)=>({width:s.width+e.x,height:s.height+e.y}))}}
      ></div>`}};A.styles=[vt,bt`
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
        display: flex;
        flex-direction: column;
        overflow: auto;
        min-height: 0;
      }
      ::slotted(sf-screen) {
        flex: 1 0 auto;
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
    `];H([X()],A.prototype,"name",2);H([X({attribute:!1})],A.prototype,"place",2);H([X({type:Boolean})],A.prototype,"front",2);A=H([kt("sf-window")],A);const we=bt`
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
    font-size: 1.1rem;
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
      radial-gradient(circle at 80% 80%, color-mix(in oklab, var(--warm) 18%, transparent), transparent 60%),
      var(--bg);
  }
  form {
    display: flex;
    gap: 0.4rem;
  }
  form input {
    flex: 1;
  }
  sf-window form {
    padding: 0.5rem;
    border-bottom: 1px solid var(--line);
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
      min-height: 14rem;
      display: grid;
      gap: 0.5rem;
      padding: 0.5rem;
      align-content: start;
    }
  }
`;var ge=Object.defineProperty,ve=Object.getOwnPropertyDescriptor,it=(t,e,s,n)=>{for(var o=n>1?void 0:n?ve(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(o=(n?r(e,s,o):r(o))||o);return n&&o&&ge(e,s,o),o};const wt="desktop",be=24,ye={files:"▤",terminal:">_",settings:"⚙",file:"¶"};let _=class extends yt{constructor(){super(...arguments),this.place="",this.desktop=Qt(R(wt,[])),this.own=new ue(this),this.stopping=new Map,this.asked=0,this.onLooks=()=>this.requestUpdate(),this.onKey=t=>{const e=Ht(t),s=this.desktop.windows.filter(({isMinimised:n})=>!n).at(-1);e===0||s===void 0||(t.preventDefault(),this.go(s,e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("sf-looks",this.onLooks),this.onFiles(this.own.system,this.own.system),this.own.begin().catch(k)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("sf-looks",this.onLooks);for(const t of this.stopping.values())t.abort()}find(t){return this.desktop.windows.find(e=>e.id===t)}change(t){this.desktop=t,K(wt,Vt(t))}open(t){const e=i=>i.own!==void 0&&i.own===t.own&&i.path===t.path,s=this.desktop.windows.find(i=>e(i.app));if(s!==void 0){this.change(J(g(this.desktop,s.id,{isMinimised:!1}),s.id));return}const n=this.desktop.next,o=$t(this.desktop,t,this.clientWidth);this.change(t.own===void 0?o:q(o,n,this.own.page(t))),t.own===void 0&&this.ask(n,t.sentence)}openNamed(t){const e=et.find(s=>s.name===t);this.open(e??{name:S(t),sentence:"",own:"file",path:t})}onFiles(t,e){let{desktop:s}=this;for(const{id:n,app:o,pages:i}of s.windows){const r=E(i);if(o.own==="files"&&r!==void 0){const l=st(e,r);l!==r&&(s=q(s,n,l))}if(o.own!=="file"||o.path===void 0||v(e,o.path)!==void 0)continue;const a=t.files.findIndex(({path:l})=>l===o.path),d=t.files.length===e.files.length?e.files[a]:void 0;s=d===void 0?at(s,n):g(s,n,{app:{...o,name:S(d.path),path:d.path}})}s!==this.desktop&&this.change(s)}take(t,e,s=""){const n=this.find(t),o=n===void 0?void 0:E(n.pages),i=r=>this.change(q(this.desktop,t,r));try{return n===void 0||o===void 0?i(e):this.own.take(n.app,o,e,{sentence:s,show:i}),!0}catch(r){return k(r),!1}}pageOf(t){const e=this.find(t);return e===void 0?null:E(e.pages)??null}go(t,e){const s=Jt(this.desktop,t.id,e),n=s.windows.find(({id:r})=>r===t.id),[o,i]=[E(t.pages),n===void 0?void 0:E(n.pages)];if(o===i&&x(`There is nothing to ${e<0?"undo":"redo"}.`),!(o===void 0||i===void 0||o===i))try{this.own.take(t.app,o,i,{show:()=>this.change(s)})}catch(r){k(r)}}async ask(t,e){const s=this.find(t);if(s===void 0||s.isWriting||e.trim()==="")return;if(s.app.own==="file"){await this.own.write(s.app.path??"",e);return}const n=Gt(e);if(n!==0){this.go(s,n);return}const{author:o,steps:i}=this.own;if(o===void 0)return;const r=new AbortController;this.stopping.set(t,r);const a=E(s.pages)??null;this.desktop=g(this.desktop,t,{isWriting:!0,error:""});try{const d=await Pt(tt,o.id,e,{page:a,steps:i,seed:this.asked++,signal:r.signal,onDraft:l=>this.desktop=g(this.desktop,t,{draft:l})});a!==null&&F(a)===F(d.page)?x(Wt):this.take(t,Ut(this.pageOf(t),a,d),e)&&gt(`${s.app.name}: changed.`)}catch(d){d instanceof xt?x(d.message):d instanceof It?a===null?this.desktop=g(this.desktop,t,{error:d.message}):x(d.message):r.signal.aborted||(k(d),this.desktop=g(this.desktop,t,{error:a===null?"Nothing was written.":""}))}finally{this.desktop=g(this.desktop,t,{isWriting:!1,draft:null})}}onEffect(t,e,s){if(s.say!==void 0&&x(s.say),s.ask!==void 0&&this.ask(t.id,s.ask),!(s.program===void 0||s.program===""))try{this.take(t.id,Rt(e,s.program))}catch(n){k(n)}}onWindow(t,e){e==="close"?(this.stopping.get(t.id)?.abort(),this.change(at(this.desktop,t.id))):e==="minimise"?this.change(g(this.desktop,t.id,{isMinimised:!0})):this.change(J(this.desktop,t.id))}render(){const t=this.own.author!==void 0,e=(s,n)=>w`<button
        class=${s.own===void 0?"":"own"}
        ?disabled=${!n}
        @click=${()=>this.open(s)}
      >
        <b aria-hidden="true">${s.own===void 0?s.name[0]:ye[s.own]}</b>${s.name}
      </button>`;return w`<div class="page">
      <h1>Desktop</h1>
      <p class="muted intro">
        Files, Terminal and Settings are built in. A model writes every other app when you open it, and
        changes it when you say how.
      </p>
      ${this.own.cards===null||t?U:w`<p class="muted">
              No model on this server writes apps; start it with one that does: <code>sfumato serve ui</code>
            </p>`}
      <div class="apps" role="group" aria-label="Apps">
        ${et.map(s=>e(s,!0))} ${Bt.map(s=>e(s,t))}
      </div>
      <form @submit=${s=>this.onSentence(s,n=>this.make(n))}>
        <input
          name="said"
          aria-label="Describe an app"
          placeholder="Describe an app: a to-do list about the garden with six items"
          autocomplete="off"
        />
        <button class="primary" ?disabled=${!t}>Make it</button>
      </form>
      <div class="surface">
        ${this.desktop.windows.length===0?w`<p class="note muted">No window is open. Choose an app above, or describe one.</p>`:U}
        ${Ot([...this.desktop.windows].sort((s,n)=>s.id-n.id),({id:s})=>s,s=>this.window(s))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows.filter(({isMinimised:s})=>s).map(s=>w`<button
                @click=${()=>this.change(J(g(this.desktop,s.id,{isMinimised:!1}),s.id))}
              >
                ${s.app.name}
              </button>`)}
      </div>
    </div>`}make(t){const e=t.replace(/^an? /i,"").slice(0,be).trim();this.open({name:e.charAt(0).toUpperCase()+e.slice(1),sentence:t})}onSentence(t,e){t.preventDefault();const s=t.target,n=new FormData(s).get("said");s.reset(),typeof n=="string"&&n.trim()!==""&&e(n.trim())}window(t){const e=t.draft??E(t.pages)??null,s=this.desktop.windows.indexOf(t);return w`<sf-window
      name=${t.app.name}
      style=${`z-index: ${s+1}`}
      ?hidden=${t.isMinimised}
      ?front=${s===this.desktop.windows.length-1}
      .place=${t.place}
      @sf-place=${({detail:n})=>this.change(g(this.desktop,t.id,{place:n}))}
      @sf-window=${({detail:n})=>this.onWindow(t,n)}
    >
      ${this.command(t)} ${e===null?this.unwritten(t):this.screen(t,e)}
    </sf-window>`}command(t){const e=t.app.own==="file";if(!e&&this.own.author===void 0)return U;const s=t.isWriting||this.own.isWriting(t.app),n=()=>{this.stopping.get(t.id)?.abort(),this.own.stop()};return w`<form
      @submit=${o=>this.onSentence(o,i=>void this.ask(t.id,i))}
    >
      <input
        name="said"
        aria-label=${`Say what to ${e?"write":"change"} in ${t.app.name}`}
        placeholder=${e?"Say what to write …":"Say what to change …"}
        autocomplete="off"
      />
      ${s?w`<button type="button" @click=${n}>Stop</button>`:e||t.app.own==="terminal"?U:w`<button
                type="button"
                aria-label=${`Undo in ${t.app.name}`}
                ?disabled=${t.pages.at<1}
                @click=${()=>this.go(t,-1)}
              >
                Undo
              </button>`}
    </form>`}unwritten(t){return w`<p class="note muted">
      ${t.isWriting?"Writing …":w`${t.error||"Nothing was written."}
              <button @click=${()=>this.ask(t.id,t.app.sentence)}>Try again</button>`}
    </p>`}screen(t,e){return w`<sf-screen
      .page=${e}
      .bound=${this.own.bound(t.app,e)}
      ?draft=${t.draft!==null}
      @sf-click=${s=>{(t.draft!==null||this.own.click(t.app,e,s.detail))&&s.preventDefault()}}
      @sf-effect=${({detail:s})=>this.onEffect(t,e,s)}
    ></sf-screen>`}};_.styles=[vt,we];it([X()],_.prototype,"place",2);it([At()],_.prototype,"desktop",2);_=it([kt("sf-desktop-page")],_);export{_ as DesktopPage};
