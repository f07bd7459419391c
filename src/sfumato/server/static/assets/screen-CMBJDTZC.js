import{a as Ze}from"./answer-Bf1Mnozq.js";import{t as et}from"./canvas-BqwZnn-S.js";import{h as tt,d as h,H as z,i as Me,e as nt,p as V,g as rt,A as M,D as ot}from"./index-u800rjLx.js";import{a as st,o as it}from"./take-R79uc_On.js";import{l as X}from"./live-D1L1rOD7.js";import{c as J}from"./repeat-DG664T68.js";import{f as lt}from"./focus-BpYcMQ1a.js";const dt={id:{type:"string",pattern:"^[a-z]{1,2}$",description:"Of a slot: unique within a page."},label:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,31}$"},cell:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,15}$"},color:{enum:["red","orange","yellow","green","blue","purple","pink","grey","black","white"]},block:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/table"},{$ref:"#/$defs/column"},{$ref:"#/$defs/row"},{$ref:"#/$defs/card"},{$ref:"#/$defs/image"},{$ref:"#/$defs/tabs"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},leaf:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},page:{description:"A whole screen.",type:"object",properties:{component:{const:"page"},id:{$ref:"#/$defs/id"},theme:{enum:["dark","sepia","contrast"]},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/block"}}},required:["component","id"],additionalProperties:!1},header:{description:"A title.",type:"object",properties:{component:{const:"header"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},text:{description:"A line of text.",type:"object",properties:{component:{const:"text"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},bold:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},button:{description:"A button.",type:"object",properties:{component:{const:"button"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},list:{description:"Items or checkboxes, one below the other.",type:"object",properties:{component:{const:"list"},id:{$ref:"#/$defs/id"},numbered:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/item"},{$ref:"#/$defs/checkbox"}]}}},required:["component","id"],additionalProperties:!1},item:{description:"An entry of a list.",type:"object",properties:{component:{const:"item"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},checkbox:{description:"Something that is done or not, in a list or alone.",type:"object",properties:{component:{const:"checkbox"},id:{$ref:"#/$defs/id"},on:{const:!0},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},input:{description:"A field to type in.",type:"object",properties:{component:{const:"input"},id:{$ref:"#/$defs/id"},type:{enum:["email","number","date","time","password","search"]},required:{const:!0},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},table:{description:"Records under the names of their columns.",type:"object",properties:{component:{const:"table"},id:{$ref:"#/$defs/id"},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/record"}]}}},required:["component","id","cells"],additionalProperties:!1},record:{description:"A row of a table: a cell for each column.",type:"object",properties:{component:{const:"record"},id:{$ref:"#/$defs/id"},marked:{const:!0},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5}},required:["component","id","cells"],additionalProperties:!1},column:{description:"Components, one below the other.",type:"object",properties:{component:{const:"column"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},row:{description:"Components, side by side.",type:"object",properties:{component:{const:"row"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/column"},{$ref:"#/$defs/card"}]}}},required:["component","id"],additionalProperties:!1},card:{description:"A framed group.",type:"object",properties:{component:{const:"card"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},image:{description:"The place of an image that the text describes.",type:"object",properties:{component:{const:"image"},id:{$ref:"#/$defs/id"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},tabs:{description:"Tabs, one of which is shown.",type:"object",properties:{component:{const:"tabs"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/tab"}]}}},required:["component","id"],additionalProperties:!1},tab:{description:"What one tab shows.",type:"object",properties:{component:{const:"tab"},id:{$ref:"#/$defs/id"},on:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/table"}]}}},required:["component","id","text"],additionalProperties:!1},chart:{description:"A diagram; each cell is a label and its number.",type:"object",properties:{component:{const:"chart"},id:{$ref:"#/$defs/id"},type:{enum:["line","pie"]},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},progress:{description:"A bar that is filled by a percentage.",type:"object",properties:{component:{const:"progress"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},badge:{description:"A short label.",type:"object",properties:{component:{const:"badge"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},select:{description:"A choice between the cells.",type:"object",properties:{component:{const:"select"},id:{$ref:"#/$defs/id"},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},slider:{description:"A value between 0 and 100.",type:"object",properties:{component:{const:"slider"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},divider:{description:"A line between what is above and what is below.",type:"object",properties:{component:{const:"divider"},id:{$ref:"#/$defs/id"},hidden:{const:!0}},required:["component","id"],additionalProperties:!1}},at={$defs:dt},oe=4,te=Array.from("abcdefghijklmnopqrstuvwxyz"),L=[...te,...te.flatMap(e=>te.map(t=>e+t))],ze=new Map(L.map((e,t)=>[e,t])),ct=/^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u,ft=/^(?:0|[1-9]\d*)$/;class u extends Error{constructor(){super(...arguments),this.name="PageError"}}const de=at.$defs,Ie=e=>e.$ref?.split("/").at(-1)??"";function se(e){return e.$ref===void 0?e:se(de[Ie(e)]??{})}function ut(e,t){const n=new Map;let o=[0,0];const r=t.properties??{};for(const[d,l]of Object.entries(r)){const a=se(l);if(a.type==="integer")n.set("#",d),o=[a.minimum??0,a.maximum??0];else if(d!=="component"&&(a.enum!==void 0||a.const!==void 0))for(const c of a.enum??[d])n.set(c,d)}const s=r.cells??{},i=se(r.children?.items??{}).oneOf??[];return{name:e,words:n,properties:[...new Set(n.values())],range:o,hasText:"text"in r,needsText:t.required?.includes("text")??!1,cells:[s.minItems??0,s.maxItems??0],children:new Set(i.map(Ie))}}const Q=new Map(Object.entries(de).filter(([,e])=>e.properties!==void 0&&"component"in e.properties).map(([e,t])=>[e,ut(e,t)])),ve=e=>new RegExp(de[e]?.pattern??"","u"),ye={label:ve("label"),cell:ve("cell")};function S(e){const t=Q.get(e.kind);if(t===void 0)throw new u(Le("component",e.kind,Q.keys()));return t}function w(e){const t=e.replaceAll("\\","\\\\").replaceAll(`
`,"\\n");return t.includes("'")&&!t.includes('"')?`"${t}"`:`'${t.replaceAll("'","\\'")}'`}function Le(e,t,n){return`unknown ${e} ${w(t)}; allowed: ${[...n].sort().join(", ")}`}function _(e,t){if(!ft.test(t))return t==="#"?void 0:e.words.get(t);const[n,o]=e.range;return Number(t)>=n&&Number(t)<=o?e.words.get("#"):void 0}function p(e,t){return e.words.find(n=>_(S(e),n)===t)}function ae(e,t,n){const o=S(e),r=i=>o.properties.indexOf(_(o,i)??""),s=e.words.filter(i=>_(o,i)!==t);return(n===null?s:[...s,n]).sort((i,d)=>r(i)-r(d))}function N(e){return e.filter(t=>p(t,"hidden")===void 0)}function*g(e){yield e;for(const t of e.children)yield*g(t)}function P(e,t){for(const n of g(e))if(n.id===t)return n}function D(e,t){for(const n of g(e))if(n.children.some(o=>o.id===t))return n}function xe(e){const[t,n]=e.range;return[...e.words.keys()].map(o=>o==="#"?`${t} to ${n}`:o).join(", ")||"no property"}function v(e){const t=S(e),{text:n,cells:o,words:r}=e,s=`${e.kind} ${e.id}`,i=r.map(c=>{const f=_(t,c);if(f===void 0)throw new u(`${s} has ${w(c)}; allowed: ${xe(t)}`);return t.properties.indexOf(f)});if(i.some((c,f)=>f>0&&c<=(i[f-1]??0)))throw new u(`${s} has ${w(r.join(" "))}; allowed: one each of ${xe(t)}`);if(n!==""&&!t.hasText||n===""&&t.needsText)throw new u(`${s} has ${n===""?"no":"a"} text; allowed: ${t.hasText?"a":"no"} text`);const[d,l]=t.cells;if(o.length<d||o.length>l||o.length>0&&t.hasText&&n==="")throw new u(`${s} has ${o.length} cells; allowed: ${d} to ${l}, behind its text if it has one`);const a=(c,f)=>new u(`${s} has the string ${w(c)}; allowed: 1 to ${f} characters without |, line ends, U+FFFD, and spaces at the ends or side by side`);if(n!==""&&!ye.label.test(n))throw a(n,32);for(const c of o)if(!ye.cell.test(c))throw a(c,16);for(const c of e.children){if(!t.children.has(c.kind)){const f=[...t.children].sort().join(", ")||"nothing";throw new u(`${s} holds ${c.kind} ${c.id}; allowed: ${f}`)}if(c.kind==="record"&&c.cells.length!==o.length)throw new u(`record ${c.id} has ${c.cells.length} cells; allowed: ${o.length}, as its table`)}return e}function Ce(e){if(e.kind!=="page")throw new u(`the first component is a ${e.kind}; allowed: page`);const t=new Set;for(const{id:o}of g(e)){if(!ze.has(o))throw new u(`a slot id is ${w(o)}; allowed: one or two letters from a to z`);if(t.has(o))throw new u(`two slots have the id ${w(o)}; allowed: one each`);t.add(o)}const n=De(e);if(n>oe)throw new u(`components stand ${n} levels below the page; allowed: ${oe}`);return e}function De(e){return Math.max(0,...e.children.map(t=>1+De(t)))}function Ne(e,t){const n=1+Math.max(...[...g(e)].map(({id:o})=>ze.get(o)??0));if(n+t>L.length)throw new u(`the page has no id left for ${t} new slots; allowed: up to 'zz'`);return L.slice(n,n+t)}function ie(e,t=!0){const n=[...t?[e.id]:[],e.kind,...e.words].join(" "),o=[...e.text===""?[]:[e.text],...e.cells].join(" | ");return o===""?n:`${n}: ${o}`}function I(e,{ids:t=!0,indent:n=0}={}){return[" ".repeat(n)+ie(e,t),...e.children.map(o=>I(o,{ids:t,indent:n+1}))].join(`
`)}function ce(e,t){const n=ct.exec(e);if(n===null)throw new u("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text");const[,o="",r,s="",i="",d]=n,l=d===void 0?[]:d.split(" | "),a=l.length>0&&(Q.get(s)?.hasText??!1),c=v({id:r??t,kind:s,words:i.split(" ").filter(f=>f!==""),text:a?l[0]??"":"",cells:a?l.slice(1):l,children:[]});return{indent:o.length,hasId:r!==void 0,component:c}}class Re{constructor(){this.path=[]}get length(){return this.path.length}add(t,n){this.complete(n),this.path.push([t,[]])}complete(t){for(;this.path.length>t;){const[n,o]=this.path.at(-1),r=o.length===0?n:v({...n,children:o});this.path.pop(),this.path.at(-1)?.[1].push(r)}}page(){this.complete(1);const[t,n]=this.path[0];return Ce(v({...t,children:n}))}}function ht(e){const t=e.split(`
`);if(t.length>L.length)throw new u(`the page has ${t.length} lines; allowed: ${L.length}`);const n=new Re;let o=!1;return t.forEach((r,s)=>{try{const{indent:i,hasId:d,component:l}=ce(r,L[s]??"");if(s===0&&(o=d),d!==o)throw new u("some lines have slot ids and some do not; allowed: ids on all of them or on none");const a=Math.min(s,1);if(i<a||i>n.length)throw new u(`it has ${i} spaces before it; allowed: ${a} to ${n.length}`);n.add(l,i)}catch(i){throw i instanceof u?new u(`line ${s+1}, ${w(r)}: ${i.message}`):i}}),n.page()}function ke(e){const t=e.split(`
`).slice(0,L.length),n=[],o=[];if(t.forEach((s,i)=>{try{const d=L[i]??"",{indent:l,component:a}=ce(s,d),c=l===0?void 0:n[l-1];if(!(c===void 0?l===0&&i===0&&a.kind==="page":l<=oe&&(Q.get(c.kind)?.children.has(a.kind)??!1)&&(a.kind!=="record"||c.cells===a.cells.length)))return;n.splice(l,n.length,{kind:a.kind,cells:a.cells.length}),o.push({component:{...a,id:d},indent:l})}catch(d){if(!(d instanceof u))throw d}}),o.length===0)return null;const r=new Re;for(const{component:s,indent:i}of o)r.add(s,i);return r.page()}const pt=["not on this screen","a screen cannot do that","more than one fits"];function _e(e){return e.startsWith("refuse: ")&&pt.includes(e.slice(8))}function H(e,t){if(_e(t))return e;for(const n of t.split(`
`)){const[o=""]=n.split(" ",1),r=n.slice(o.length+1);try{const s=Oe.get(o);if(s===void 0)throw new u(Le("operation",o,Oe.keys()));const i=s.form.exec(r);if(i===null)throw new u(`it is incomplete; allowed, for example: ${o} ${s.example}`);e=Ce(s.run(e,...i.slice(1)))}catch(s){throw s instanceof u?new u(`${w(n)} does not fit: ${s.message}`):s}}return e}function Ue(e,t){const n=e.children.flatMap(s=>Ue(s,t)),r=n.length===e.children.length&&n.every((s,i)=>s===e.children[i])?e:v({...e,children:n});return t.get(e.id)?.(r)??[r]}function k(e,t,n){const[o]=Ue(e,new Map([...t].map(r=>[r,n])));if(o===void 0)throw new u("the page itself cannot be deleted; allowed: slots on it");return o}function b(e,t){const n=P(e,t);if(n!==void 0)return n;const o=[...g(e)].map(r=>r.id).join(", ");throw new u(`there is no slot ${w(t)}; allowed: ${o}`)}function U(e,t){b(e,t);const n=D(e,t);if(n!==void 0)return n;throw new u("the page itself cannot be moved, copied or deleted; allowed: slots on it")}function F(e,t){const n=e.kind==="table"?e.cells.indexOf(t):-1;if(n>=0)return n;throw new u(`${e.kind} ${e.id} has no column ${w(t)}; allowed: ${e.cells.join(", ")||"a table"}`)}function Y(e,t){const n=/^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[(?:([^\n]+) \| )?([^\n]+)\])$/u.exec(t);if(n===null)return[...new Set(t.split(","))].map($=>b(e,$));const[,o="",r,s,i,d,l="",a,c]=n,f=b(e,o);if(i){const $=N(f.children),q=Number(i);if(q>$.length)throw new u(`${f.kind} ${o} shows no ${i}; allowed: up to ${$.length}`);return s?$.slice(-q):$.slice(0,q)}if(r!==void 0)return f.children;if(a!==void 0){const $=F(f,a);return f.children.filter(q=>q.cells[$]===c)}if(c!==void 0){if(f.kind!=="table")throw new u(`${f.kind} ${o} has no records; allowed: a table`);return f.children.filter($=>$.cells.includes(c))}const m=f.children.filter($=>S($).properties.includes(l));if(m.length===0)throw new u(`nothing in ${f.kind} ${o} can be ${w(l)}; allowed: a property of what is in it`);return m.filter($=>p($,l)!==void 0==(d==="+"))}const K=e=>e.map(({id:t})=>t);function $t(e,t,n){return k(e,K(Y(e,t)),o=>{const r=_(S(o),n);if(r===void 0){const s=[...S(o).words.keys()].join(", ");throw new u(`${o.kind} ${o.id} cannot be ${w(n)}; allowed: ${s}`)}return[v({...o,words:ae(o,r,n)})]})}function mt(e,t,n){return k(e,K(Y(e,t)),o=>{const r=S(o).properties;if(!r.includes(n))throw new u(`${o.kind} ${o.id} has no ${w(n)}; allowed: ${r.join(", ")}`);return[v({...o,words:ae(o,n,null)})]})}function bt(e,t,n){return b(e,t),k(e,[t],o=>[v({...o,text:n})])}function fe(e,t,...n){return[...e.slice(0,t),...n,...e.slice(t+1)]}function gt(e,t,n,o){const{cells:r}=b(e,t),s=U(e,t),d=!s.cells.includes(n)&&r.filter(l=>l===n).length===1?r.indexOf(n):F(s,n);return k(e,[t],l=>[v({...l,cells:fe(l.cells,d,o)})])}function ue(e,t,n,o){const s=t==="first"||t==="last"?b(e,n):U(e,n),i=s.children.findIndex(a=>a.id===n),d={first:0,last:s.children.length,before:i,after:i+1}[t]??0,l=[...s.children.slice(0,d),o,...s.children.slice(d)];return k(e,[s.id],a=>[v({...a,children:l})])}function wt(e,t,n,o){const{hasId:r,component:s}=ce(o,Ne(e,1)[0]??"");if(r)throw new u("the new component has an id; allowed: none, it gets one");return ue(e,t,n,s)}function vt(e,t){const n=K(Y(e,t));for(const o of n)U(e,o);return k(e,n,()=>[])}function yt(e,t,n,o){U(e,t);const r=b(e,t);if(P(r,o)!==void 0)throw new u(`${o} is in ${t} itself; allowed: a slot outside of it`);return b(e,o),ue(k(e,[t],()=>[]),n,o,r)}function xt(e,t,n){const[o,r]=[b(e,t),b(e,n)];if(U(e,t)!==U(e,n))throw new u(`${t} and ${n} are not in the same slot; allowed: two side by side`);return k(e,[t,n],({id:s})=>[s===t?r:o])}function kt(e,t){const n=b(e,t),o=Ne(e,[...g(n)].length)[Symbol.iterator](),r=s=>({...s,id:o.next().value??"",children:s.children.map(r)});return ue(e,"after",t,r(n))}function je(e){const t=/^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(e),n=e.toUpperCase().toLowerCase().replaceAll("ς","σ");return[t===null?1:0,t===null?0:Number(t[1]),n]}function jt(e,t){const[n,o]=[Array.from(e),Array.from(t)];for(let r=0;r<Math.min(n.length,o.length);r++){const s=(n[r]?.codePointAt(0)??0)-(o[r]?.codePointAt(0)??0);if(s!==0)return s}return n.length-o.length}function At(e,t,n,o){const r=b(e,t);let s;if(r.kind==="table"){const l=F(r,o);s=a=>je(a.cells[l]??"")}else{if(r.kind!=="list")throw new u(`${t} is a ${r.kind}; allowed: a list or a table`);if(o==="name")s=l=>je(l.text);else if(o==="on"||o==="marked")s=l=>[p(l,o)===void 0?0:1,0,""];else throw new u(`a list cannot be sorted by ${w(o)}; allowed: name, on, marked`)}const i=n==="down"?-1:1,d=r.children.map(l=>({child:l,key:s(l)})).sort(({key:l},{key:a})=>i*(l[0]-a[0]||l[1]-a[1]||jt(l[2],a[2]))).map(({child:l})=>l);return k(e,[t],l=>[{...l,children:d}])}function Ot(e,t){const n=new Set(K(Y(e,t))),o=/^[a-z]+/.exec(t)?.[0]??"";return k(e,K(b(e,o).children),r=>{const s=n.has(r.id)?null:"hidden";return[v({...r,words:ae(r,"hidden",s)})]})}function He(e,t,n){return k(e,[t],o=>{const r=o.children.map(s=>v({...s,cells:n(s)}));return[v({...o,cells:n(o),children:r})]})}function Et(e,t,n,o){const r=b(e,t);if(r.kind!=="table")throw new u(`${t} is a ${r.kind}; allowed: a table`);return He(e,t,s=>[...s.cells,s.kind==="table"?n:o])}function Pt(e,t,n){const o=F(b(e,t),n);return He(e,t,r=>fe(r.cells,o))}function Tt(e,t,n,o){const r=F(b(e,t),n);return k(e,[t],s=>[v({...s,cells:fe(s.cells,r,o)})])}const x="([a-z]{1,2})",T="([^\\n]+)",We="[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])",ne=`([a-z]{1,2}(?:,[a-z]{1,2})*|${We})`,Ae="(first|last|before|after)",Oe=new Map([["set",`${ne} ([a-z]+|\\d+)`,"d red",$t],["clear",`${ne} ([a-z]+)`,"d color",mt],["text",`${x}: ${T}`,"d: Save",bt],["cell",`${x} ${T} \\| ${T}`,"r Price | 12",gt],["add",`${Ae} ${x} ([^ ][^\\n]*)`,"last c checkbox: Milk",wt],["del",ne,"d,f",vt],["move",`${x} ${Ae} ${x}`,"d first c",yt],["swap",`${x} ${x}`,"d e",xt],["copy",x,"d",kt],["sort",`${x} (up|down) ${T}`,"c up name",At],["only",`(${We})`,"c-on",Ot],["column",`${x} ${T} \\| ${T}`,"t Priority | low",Et],["drop",`${x} ${T}`,"t Price",Pt],["head",`${x} ${T} \\| ${T}`,"t Price | Cost",Tt]].map(([e,t,n,o])=>[e,{form:new RegExp(`^(?:${t})$`,"u"),example:n,run:o}])),xn="That text does not fit here: use up to 32 characters, without |.",Ke=["dark","sepia","contrast"];function he(e,t){switch(t.type){case"set":return`set ${t.slot} ${t.word}`;case"toggle":{const n=P(e,t.slot);return n===void 0?null:`${p(n,"on")===void 0?"set":"clear"} ${t.slot} on`}case"add":return pe(e,t.slot,t.text);case"remove":return`del ${t.slot}`;case"move":{const n=St(e,t.slot,t.by);return n===void 0?null:`swap ${t.slot} ${n.id}`}case"sort":return`sort ${t.slot} ${$e(e,t.slot,t.by)==="up"?"down":"up"} ${t.by}`;case"filter":{const n=P(e,t.slot);return n===void 0?null:B(n,t.by)}case"theme":return Ke.includes(t.name)?`set ${e.id} ${t.name}`:`clear ${e.id} theme`;case"navigate":{const n=D(e,t.slot);return n===void 0?null:`clear ${n.id}* on
set ${t.slot} on`}case"ask":return null}}function Be(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim()}function pe(e,t,n){const[o,r]=[P(e,t),Be(n)];return o===void 0||r===""?null:o.kind==="table"?`add last ${t} record: ${[r,...o.cells.slice(1).map(()=>"-")].join(" | ")}`:`add last ${t} ${o.children.at(-1)?.kind??"checkbox"}: ${r}`}function St(e,t,n){const r=(D(e,t)?.children??[]).filter(s=>s.id===t||p(s,"hidden")===void 0);return r[r.findIndex(s=>s.id===t)+n]}function $e(e,t,n){const o=d=>P(d,t)?.children.map(l=>l.id).join(","),r=d=>o(H(e,`sort ${t} ${d} ${n}`))===o(e),[s,i]=[r("up"),r("down")];return s===i?null:s?"up":"down"}const qt=/^(?:all|any|every\w*|show all|alle)$/i,Fe=/\b(?:done|completed?|finished|checked|ticked)\b/i,Mt=/\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;function B(e,t){const{id:n}=e;if(e.children.length===0)return null;if(t===""||qt.test(t))return`only ${n}*`;const o=t.toLowerCase();for(const[a,c]of e.kind==="table"?e.cells.entries():[]){const f=e.children.map(m=>m.cells[a]??"").find(m=>m.toLowerCase()===o);if(f!==void 0)return`only ${n}[${c} | ${f}]`}const r=e.children.some(a=>S(a).properties.includes("on"));if(r&&Mt.test(t))return`only ${n}-on`;if(r&&Fe.test(t))return`only ${n}+on`;const s=a=>[a.text,...a.cells].join(" ").toLowerCase().includes(o),[i,d]=[e.children.filter(s),e.children.filter(a=>!s(a))],l=(a,c,f)=>c.length===0?[]:[`${a} ${c.map(m=>m.id).join(",")} ${f}`];return[...l("clear",i,"hidden"),...l("set",d,"hidden")].join(`
`)}function me(e,t){const n=i=>i.kind==="list"||i.kind==="table",o=D(e,t)?.children.find(n);if(o!==void 0)return o;const r=[...g(e)],s=r.findIndex(i=>i.id===t);return r.slice(0,s).findLast(n)??r.find(n)}function zt(e,t){const n=D(e,t)?.children??[],o=n.findIndex(r=>r.id===t);return n.slice(0,o).filter(r=>["input","select","slider"].includes(r.kind))}function Ge(e,t,n){const o=P(e,t);if(o===void 0)return{};const r=o.text.toLowerCase(),s=me(e,t),i=zt(e,t),d=i.map(f=>f.id),l=D(e,t);if(i.length>0&&s?.kind==="table"&&!/^(?:search|find|filter)/.test(r)){const f=Dt(s,i,n);if(f!==null)return{program:f,clears:d}}if(/^(?:\+|add|new|create|insert|save|ok$)/.test(r)&&s!==void 0&&i.length<=1){const f=i[0]??[...g(e)].find($=>$.kind==="input");if(f===void 0)return{ask:o.text};const m=pe(e,s.id,n[f.id]??"");return m===null?{say:`Type in “${f.text}” what to add`}:{program:m,clears:[f.id]}}const a=/\b(dark|light|sepia|contrast)\b/.exec(r)?.[1];if(a!==void 0){const f=p(e,"theme")===a;return{program:he(e,{type:"theme",name:f?"light":a})??""}}if(/^(?:reset|cancel)\b/.test(r)&&d.length>0)return{clears:d};if(l?.kind==="card"&&/^(?:delete|remove|close|dismiss)$/.test(r))return{program:`del ${l.id}`};if(l?.kind==="card"&&/^(?:copy|duplicate)$/.test(r))return{program:`copy ${l.id}`};const c=s===void 0?null:Ct(s,r,i,n);return c!==null?Lt(e,c):i.length>0?{say:It(o,i,n)}:{ask:o.text+(l?.kind==="card"?`: ${l.text}`:"")}}function It(e,t,n){const o=t.find(r=>p(r,"required")!==void 0&&!n[r.id]?.trim());return o!==void 0?`Fill in “${o.text}”`:`“${e.text}” does nothing here: apps made on this page send nothing anywhere. What you typed stays.`}function Lt(e,t){try{return H(e,t),{program:t}}catch(n){if(n instanceof u)return{say:"There is nothing to do that to"};throw n}}function Ct(e,t,n,o){const r=/^(?:clear|delete|remove|empty)\b/.test(t);if(r&&Fe.test(t))return`del ${e.id}+on`;if(r&&/\b(?:all|everything|list)\b/.test(t))return`del ${e.id}*`;if(/^sort\b/.test(t)){const s=e.cells.find(i=>t.includes(i.toLowerCase()))??e.cells[0]??"name";return`sort ${e.id} up ${s}`}return/^(?:untick|uncheck|reset|clear)\b/.test(t)?`clear ${e.id}* on`:/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(t)?`set ${e.id}* on`:/^(?:search|find|filter)\b/.test(t)&&n[0]!==void 0?B(e,o[n[0].id]??""):/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(t)?B(e,t.replace(/^(?:show|only|view)\s*/,"")):null}function Dt(e,t,n){const o=e.cells.map(s=>s.toLowerCase());if(!t.every(s=>o.includes(s.text.toLowerCase())))return null;const r=o.map(s=>{const i=t.find(d=>d.text.toLowerCase()===s);return(i===void 0?"":Be(n[i.id]??""))||"-"});return r.every(s=>s==="-")?null:`add last ${e.id} record: ${r.join(" | ")}`}function Nt(e,t,n){const o=P(e,t),r=D(e,t)?.children??[],s=r.slice(r.findIndex(l=>l.id===t)).find(l=>l.kind==="button"),i=me(e,t);if(o!==void 0&&i!==void 0&&p(o,"type")==="search")return{program:B(i,n[t]??"")??""};if(s!==void 0)return Ge(e,s.id,n);const d=i===void 0?null:pe(e,i.id,n[t]??"");return d===null?{}:{program:d,clears:[t]}}function Rt(e,t,n){const o=P(e,t);if(o===void 0)return{};const r=n.toLowerCase();if(Ke.includes(r)||r==="light")return{program:he(e,{type:"theme",name:r})??""};const s=me(e,t);if(s===void 0)return{};if(/\b(?:sort|order)/i.test(o.text)){const l=s.cells.find(a=>a.toLowerCase()===r)??(s.kind==="list"?"name":null);return l===null?{}:{program:`sort ${s.id} up ${l}`}}const i=B(s,n),d=i?.startsWith("set ")===!0&&!i.includes(`
`);return i===null||d?{}:{program:i}}const _t=`
> `,Ee=5,Ut=.9,Ht=/\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i,Wt=/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]|\p{Extended_Pictographic}(?<![\d#*©®™])/u,Kt=/\b(?:all|both|every\w*|whole|entire|them|these|those|it|this|that|lists?|tables?|rows?|tabs?|cards?|sections?|columns?|groups?|windows?|forms?|panels?|box(?:es)?)\b/i,le="two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(" "),Bt=new RegExp(`\\b(\\d{1,2}|${le.join("|")}) (?:[a-z-]+ )?(?:items|tasks|entries|things|chores|rows|points|steps|lines|jobs)\\b`,"gi"),Ft=2,kn="The model changed nothing: it is so already, or say it in other words.";class W extends Error{constructor(){super(...arguments),this.name="NotUnderstood"}}function Gt(e,t,n){if(!Ht.test(n)||/\bhidden\b/i.test(n))return!1;const o=new Set([...g(e)].filter(r=>p(r,"hidden")!==void 0).map(({id:r})=>r));return t.split(`
`).some(r=>{const[,s=""]=r.split(" ");return!r.endsWith(" hidden")&&s.split(",").some(i=>o.has(i))})}function Xt(e,t,n){if(Kt.test(n))return null;const o=new Set(t.split(`
`).flatMap(d=>/^del ([a-z,]+)$/.exec(d)?.[1]?.split(",")??[])),r=n.toLowerCase(),s=d=>[d.kind,...d.text.toLowerCase().split(" ")];return[...g(e)].filter(({id:d,children:l})=>o.has(d)&&l.length>0).find(d=>!s(d).some(l=>l!==""&&r.includes(l)))??null}function Xe(e){return[...g(e)].filter(({kind:t})=>t==="list"||t==="table")}function Je(e,t){const[n,...o]=[...t.matchAll(Bt)].map(([,i=""])=>i.toLowerCase()),[r,...s]=Xe(e);return n===void 0||o.length>0||r===void 0||s.length>0?null:r.children.length-(le.includes(n)?le.indexOf(n)+2:Number(n))}function Jt(e,t){const n=Je(e,t)??0;if(n<=0)return e;const o=Xe(e).flatMap(({children:r})=>r.slice(-n).map(({id:s})=>s));return H(e,`del ${o.join(",")}`)}function jn(e,t,{page:n,program:o}){return o===null||e===null||e===t?n:H(e,o)}function re(e){return tt()&&p(e,"theme")===void 0?H(e,`set ${e.id} dark`):e}function An({sfumato:e}){return e.tasks.includes("ui_screen")}async function On(e,t,n,o={}){const{page:r=null,seed:s=0,steps:i,signal:d,onDraft:l}=o,a=n.replace(/\s+/gu," ").trim();if(Wt.test(a))throw new W("The model reads Latin letters and no emoji, so nothing changed.");const c=r===null?`screen: ${a}`:I(r)+_t+a,f=performance.now(),m={model:t,prompt:c,...i===void 0?{}:{steps:i}};let $={...m,seed:s};const q=j=>({...m,seed:s+j,temperature:Ut});let[Z,ge]=["",""];for(let j=1;j<=Ee;j++){const{text:y,usage:we,reason:ee}=await Ze(e.stream({...$,every_step:!1},d),E=>{if(r!==null||l===void 0)return;const A=ke(et(E));A!==null&&l(re(A),E)});if(r!==null&&ee==="steps")throw new W("The model is not sure what that means, so nothing changed. Try other words.");if(_e(y))throw new W(`The model declines: ${y.replace("refuse: ","")}.`);try{if(r===null&&ee==="length")throw new u("it does not end");const E=r===null?re(Jt(ht(y),a)):H(r,y);if(r===null&&j===1&&(Je(E,a)??0)<0){$={...m,seed:s+j};continue}const A=r===null?null:Xt(r,y,a);if(A!==null){const Ye=`the ${A.kind}${A.text===""?"":` “${A.text}”`}`;throw new W(`The model would delete ${Ye}, which you did not name, so nothing changed.`)}if(r!==null&&Gt(r,y,a))throw new u("it means what is hidden");if(r!==null&&j<Ee&&y!==ge&&I(E)===I(r)){[ge,$]=[y,q(j)];continue}return{page:E,program:r===null?null:y,usage:we,ms:performance.now()-f}}catch(E){if(!(E instanceof u))throw E;Z=E.message;const A=r===null&&j>1&&ee!=="length"?ke(y):null;if(A!==null&&I(A).split(`
`).length>=y.split(`
`).length-Ft)return{page:re(A),program:null,usage:we,ms:performance.now()-f};$=r===null?Qt(m,$,y,Z,s+j):q(j)}}const Ve=r===null?"no screen that can be shown":"no change that fits this screen";throw new W(`The model wrote ${Ve}; say it in other words.`,{cause:Z})}function Qt(e,t,n,o,r){const s=Number(/^line (\d+)/.exec(o)?.[1]??0),i=n.split(`
`);if(!i[s-1]||t.text!==void 0)return{...e,seed:r};const d=i.slice(0,s-1).reduce((a,c)=>a+c.length+1,0),l=d+(i[s-1]?.length??0);return st(t,n,it([[d,l]],n.length),r)}const Pe=3,Te=2;function O({kind:e,text:t,cells:n}){const o=t||(e==="record"?n[0]??"":"");return o===""?`the ${e}`:`“${o}”`}function Vt(e,t,n){switch(t){case"on":return e.kind==="tab"?n===void 0?null:"opened":n===void 0?"unticked":"ticked";case"hidden":return n===void 0?"showed":"hid";case"marked":return n===void 0?"unmarked":"marked";case"value":return`set to ${n??0}:`;case"theme":return`${n??"light"} theme for`;default:return n===void 0?`no ${t} any more:`:`made ${n}:`}}class Yt{constructor(){this.named=new Map}add(t,n){this.named.set(t,[...this.named.get(t)??[],n])}words(){const t=[...this.named].map(([o,r])=>{const s=r.length-Te,i=s>1?r.slice(0,Te):r;return`${o} ${i.join(", ")}${s>1?` and ${s} more`:""}`}),n=t.length-Pe;return t.slice(0,Pe).join("; ")+(n>0?`; and ${n} more changes`:"")}}function Se(e,t){const n=new Yt,[o,r]=[qe(e),qe(t)];for(const[s,{component:i,holder:d}]of o)!r.has(s)&&(d===null||r.has(d))&&n.add("removed",O(i));for(const[s,{component:i,holder:d}]of r){const l=o.get(s);if(l===void 0){(d===null||o.has(d))&&n.add("added",O(i));continue}if(l.holder!==d&&n.add("moved",O(i)),Zt(l.component,i,n),tn(l.component,i,t,n),l.component.cells.join("|")!==i.cells.join("|")){const a=d===null?void 0:r.get(d)?.component,c=d===null?void 0:o.get(d)?.component;a?.cells.length===c?.cells.length&&en(l.component,i,a,n)}}return n.words()}function qe(e){const t=new Map([[e.id,{component:e,holder:null}]]);for(const n of g(e))for(const o of n.children)t.set(o.id,{component:o,holder:n.id});return t}function Zt(e,t,n){e.kind!==t.kind?n.add("replaced",O(e)):e.text!==t.text&&n.add(`renamed ${O(e)} to`,O(t));const o=new Set([e,t].flatMap(r=>r.words.map(s=>_(S(r),s)??"")));for(const r of o){const s=p(t,r);if(p(e,r)===s)continue;const i=Vt(t,r,s);i!==null&&n.add(i,t.kind==="page"?"the screen":O(t))}}function en(e,t,n,o){const[r]=t.cells.filter(i=>!e.cells.includes(i)),[s]=e.cells.filter(i=>!t.cells.includes(i));t.kind==="record"?t.cells.forEach((i,d)=>{i!==e.cells[d]&&o.add(`${n?.cells[d]??""} is now ${i}:`,O(e))}):t.kind!=="table"?o.add("changed",O(t)):r!==void 0&&s!==void 0?o.add(`renamed the column “${s}” to`,`“${r}”`):o.add(`${s===void 0?"added":"removed"} the column`,`“${r??s??""}”`)}function tn(e,t,n,o){const r=(a,c)=>a.children.filter(({id:f})=>c.children.some(m=>m.id===f)),[s,i]=[r(e,t),r(t,e)],d=a=>a.map(({id:c})=>c).join(",");if(d(s)===d(i))return;const l=i.filter(a=>{const c=f=>d(f.filter(({id:m})=>m!==a.id));return c(s)===c(i)});if(l.length===0){const c=(t.kind==="table"?t.cells:t.kind==="list"?["name"]:[]).find(f=>$e(n,t.id,f)!==null);o.add(c===void 0?"put in another order:":`sorted by ${c}:`,O(t))}for(const a of l)o.add(l.length>1?"swapped":"moved",O(a))}function nn(e,t){const n=o=>I(o).replace(/^( *[a-z]+ checkbox) on/gm,"$1");return I(e)!==I(t)&&n(e)===n(t)}function En(e){const t=[];return e.forEach(({page:n,said:o,ms:r},s)=>{const i=(r??0)>0?void 0:e[s-1]?.page,d=i!==void 0&&nn(i,n),l=t.at(-1),a=e[(l?.first??0)-1];if(d&&l?.isTicks===!0&&a!==void 0){const f=Se(a.page,n)||"ticked and unticked again";t.splice(-1,1,{...l,last:s,said:f});return}const c=i===void 0?"":Se(i,n);t.push({said:c||o,first:s,last:s,isTicks:d})}),t}const[be,Qe,R]=[320,150,122];function rn(e){return e.cells.map(t=>{const n=/^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(t);return{label:(n?.[1]??t)||t,value:n===null?0:Number(n[2])}})}function on(e){const t=rn(e),n=p(e,"type")??"bar",o=t.map(({label:s,value:i})=>`${s} ${i}`).join(", ")||"no values yet",r=t.length===0?sn():n==="pie"?dn(t):ln(t,n==="line");return h`<svg
    viewBox="0 0 ${be} ${Qe}"
    role="img"
    aria-label="${e.text}, ${n} chart: ${o}"
  >
    ${r}
  </svg>`}function sn(){return z`<path class="axis" d="M20 ${R}H300"></path>
    <text x=${be/2} y=${Qe/2} text-anchor="middle">no values yet</text>`}function ln(e,t){const n=Math.max(...e.map(({value:i})=>i),1),o=(be-40)/e.length,r=e.map(({label:i,value:d},l)=>({label:i,value:d,x:20+o*(l+.5),y:R-Math.max(0,d)/n*(R-24)})),s=z`<polyline class="line" points=${r.map(({x:i,y:d})=>`${i},${d}`).join(" ")}></polyline>`;return z`<path class="axis" d="M20 ${R}H300"></path>
    ${t?s:null}
    ${r.map(({label:i,value:d,x:l,y:a})=>{const c=Math.min(48,o*.6),f=t?z`<circle class="fill" cx=${l} cy=${a} r="4"></circle>`:z`<rect class="fill" x=${l-c/2} y=${a} width=${c} height=${R-a} rx="3"></rect>`;return z`${f}<text x=${l} y=${a-7} text-anchor="middle">${d}</text>
        <text x=${l} y=${R+18} text-anchor="middle">${i}</text>`})}`}function dn(e){const t=e.reduce((o,{value:r})=>o+Math.max(0,r),0)||1;let n=0;return z`${e.map(({label:o,value:r},s)=>{const i=100*Math.max(0,r)/t,d=n;return n+=i,z`<circle class="slice" style="--n: ${s}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${i} ${100-i}" stroke-dashoffset=${-d}></circle>
      <rect class="key" style="--n: ${s}" x="165" y=${22+s*24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32+s*24}>${o} ${r}</text>`})}`}const an=Me`
  .page {
    --red: light-dark(#b3261e, #ff9d94);
    --orange: light-dark(#a8480b, #f5a974);
    --yellow: light-dark(#7a5b00, #e6c65c);
    --green: light-dark(#1b7045, #74d6a4);
    --blue: light-dark(#1d5fbf, #8fbcff);
    --purple: light-dark(#6b3fb0, #c4aef5);
    --pink: light-dark(#b0286f, #f5a3cd);
    --grey: light-dark(#5f5b68, #b5aec2);
    --black: light-dark(#17141c, #000000);
    --white: #ffffff;
    --page: light-dark(#ffffff, #17151d);
    --raised: light-dark(#f6f3f9, #211e2a);
    --ink: light-dark(#211d2b, #ece8f3);
    --soft: light-dark(#625b70, #aaa2ba);
    --edge: light-dark(#ddd7e4, #383246);
    --edge-strong: light-dark(#8f879e, #776e8a);
    --key: light-dark(#5b3fa0, #c4aef5);
    --on-color: light-dark(#ffffff, #17151d);
    --chip: light-dark(#4a4458, #cfc8da);
  }
  .theme-light {
    color-scheme: light;
  }
  .theme-dark {
    color-scheme: dark;
  }
  .theme-sepia {
    --page: #f6ecd9;
    --raised: #efe2c9;
    --ink: #3b2b17;
    --soft: #6a573d;
    --edge: #dccbab;
    --edge-strong: #8d7a5c;
    --key: #7d4a14;
    --yellow: #6b4f00;
    --orange: #963f08;
    --green: #17613c;
    --on-color: #fffaf0;
    color-scheme: light;
  }
  .theme-contrast {
    --red: #ff8a80;
    --orange: #ffb26b;
    --yellow: #ffe45c;
    --green: #6dffa8;
    --blue: #8ec5ff;
    --purple: #d9c2ff;
    --pink: #ff9fd2;
    --grey: #d0d0d0;
    --black: #000000;
    --page: #000000;
    --raised: #000000;
    --ink: #ffffff;
    --soft: #ffffff;
    --edge: #ffffff;
    --edge-strong: #ffffff;
    --key: #ffe45c;
    --on-color: #000000;
    --chip: #d0d0d0;
    color-scheme: dark;
  }
  .c-red {
    --c: var(--red);
  }
  .c-orange {
    --c: var(--orange);
  }
  .c-yellow {
    --c: var(--yellow);
  }
  .c-green {
    --c: var(--green);
  }
  .c-blue {
    --c: var(--blue);
  }
  .c-purple {
    --c: var(--purple);
  }
  .c-pink {
    --c: var(--pink);
  }
  .c-grey {
    --c: var(--grey);
  }
  .c-black {
    --c: var(--black);
    --on: #ffffff;
  }
  .c-white {
    --c: var(--white);
    --on: #17141c;
  }
  /* Letters as bright as the page stand on a ground of their own. */
  :is(.c-white, .c-black):is(.header, .text, .checkbox):not(li) {
    border-radius: 6px;
    padding-inline: 0.4rem;
    margin-inline: -0.4rem;
  }
  .c-white:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--chip), var(--ground));
  }
  .c-black:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--ground), var(--chip));
  }
`,cn=Me`
  :host {
    display: grid;
  }
  .page {
    /* What controls of ours take their colours from. */
    --surface: var(--page);
    --surface-2: var(--raised);
    --text: var(--ink);
    --muted: var(--soft);
    --line: var(--edge);
    --line-strong: var(--edge-strong);
    --accent: var(--key);
    background: var(--page);
    color: var(--ink);
    padding: clamp(0.9rem, 3vw, 1.75rem);
    display: grid;
    gap: 0.9rem;
    align-content: start;
    container-type: inline-size;
    transition:
      background-color calc(var(--motion) * 160ms),
      color calc(var(--motion) * 160ms);
  }
  .slot {
    min-width: 0;
    --ground: transparent;
  }
  .changed {
    animation: changed calc(var(--motion) * 900ms) ease-out;
  }
  @keyframes changed {
    from {
      background: color-mix(in oklab, var(--key) 28%, transparent);
    }
  }
  h2,
  h3,
  p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 1.4rem;
    letter-spacing: -0.01em;
  }
  h3 {
    font-size: 1rem;
    margin-bottom: 0.4rem;
  }
  .small:is(.header) h2 {
    font-size: 1.1rem;
  }
  .large:is(.header) h2 {
    font-size: 2rem;
  }
  .small:is(.text, .button) > * {
    font-size: 0.85rem;
  }
  .large:is(.text, .button) > * {
    font-size: 1.3rem;
  }
  .center {
    text-align: center;
  }
  .right {
    text-align: right;
  }
  .bold {
    font-weight: 700;
  }
  .coloured:is(.header, .text, .item, .checkbox) {
    color: var(--c);
  }
  .checkbox.coloured input {
    accent-color: var(--c);
  }
  .button.coloured > button,
  .badge.coloured > span {
    background: var(--c);
    border-color: var(--c);
    color: var(--on, var(--on-color));
  }
  .button.c-white > button,
  .badge.c-white > span {
    border-color: var(--line-strong);
  }
  .badge > span {
    display: inline-block;
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 99px;
    padding: 0.05rem 0.7rem;
    font-size: 0.85rem;
  }
  .marked {
    --ground: color-mix(in oklab, var(--yellow) 22%, transparent);
    background: var(--ground);
    border-radius: 6px;
  }
  ul,
  ol {
    margin: 0;
    padding: 0;
    display: grid;
    gap: 0.1rem;
  }
  ul {
    list-style: none;
  }
  ul > .item .says::before {
    content: "•" / "";
    margin-right: 0.6rem;
    color: var(--soft);
  }
  ol {
    counter-reset: entry;
    list-style: none;
  }
  ol > li::before {
    counter-increment: entry;
    content: counter(entry) ".";
    min-width: 1.6rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  li {
    display: flex;
    align-items: center;
    gap: 0.4rem;
    padding: 0.15rem 0.4rem;
    border-radius: 6px;
    overflow-wrap: anywhere;
  }
  .says {
    flex: 1;
    text-align: left;
  }
  button.says {
    padding: 0.1rem 0.3rem;
  }
  button.says:hover {
    text-decoration: underline;
  }
  .check {
    flex: 1;
    font-size: 1rem;
    gap: 0.6rem;
    cursor: pointer;
  }
  .check input {
    width: 1.1rem;
    height: 1.1rem;
    flex: none;
  }
  li .check input:checked + .says {
    text-decoration: line-through;
    text-decoration-color: color-mix(in oklab, currentcolor 60%, transparent);
  }
  .remove {
    padding: 0 0.5rem;
    line-height: 1.5;
    opacity: 0;
    color: var(--soft);
  }
  :is(li, tr):is(:hover, :focus-within) .remove {
    opacity: 1;
  }
  @media (hover: none) {
    .remove {
      opacity: 1;
    }
  }
  .hidden-note {
    color: var(--soft);
    font-size: 0.875rem;
    padding: 0.2rem 0.4rem;
  }
  .hidden-note button {
    text-decoration: underline;
    padding: 0.1rem 0.3rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: end;
  }
  .row > .card {
    flex: 1 1 12rem;
    align-self: stretch;
  }
  .row > :is(.input, .column, .slider, .progress, .chart) {
    flex: 1 1 10rem;
  }
  .row > .checkbox {
    align-self: center;
  }
  .column,
  .card {
    display: grid;
    gap: 0.6rem;
    align-content: start;
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 0.9rem 1rem;
  }
  .card h3 {
    margin: 0;
  }
  .card.coloured {
    border-color: var(--c);
    border-left-width: 5px;
  }
  .card.marked {
    outline: 2px solid var(--yellow);
  }
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    text-align: left;
    padding: 0.4rem 0.6rem;
    border-bottom: 1px solid var(--line);
  }
  th button {
    padding: 0.1rem 0;
    font-weight: 650;
    white-space: nowrap;
  }
  td.number {
    font-variant-numeric: tabular-nums;
  }
  td .remove {
    float: right;
  }
  [role="tablist"] {
    display: flex;
    flex-wrap: wrap;
    gap: 0.2rem;
    border-bottom: 1px solid var(--line);
  }
  [role="tab"] {
    border-radius: 8px 8px 0 0;
    border-bottom: 2px solid transparent;
    color: var(--soft);
  }
  [role="tab"][aria-selected="true"] {
    color: var(--key);
    border-bottom-color: var(--key);
    font-weight: 600;
  }
  [role="tabpanel"] {
    display: grid;
    gap: 0.75rem;
    padding: 0.9rem 0.1rem 0;
    min-height: 2.5rem;
  }
  .input > label > :is(input, textarea),
  .select select {
    width: 100%;
  }
  progress {
    width: 100%;
    height: 0.6rem;
    accent-color: var(--c, var(--key));
  }
  .slider input {
    width: 100%;
  }
  .chart svg {
    width: 100%;
    max-width: 32rem;
    height: auto;
  }
  .axis,
  .line {
    fill: none;
    stroke: var(--edge-strong);
  }
  .line {
    stroke: var(--c, var(--key));
    stroke-width: 2.5;
    stroke-linejoin: round;
  }
  .fill {
    fill: var(--c, var(--key));
  }
  .slice {
    fill: none;
    stroke-width: 62;
    stroke: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  .key {
    fill: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  svg text {
    fill: var(--ink);
    font-size: 11px;
  }
  .picture {
    width: min(100%, 22rem);
    aspect-ratio: 16 / 10;
    border-radius: 10px;
    display: inline-grid;
    place-items: center;
    padding: 0.5rem;
    color: var(--soft);
    background:
      radial-gradient(circle at 30% 25%, color-mix(in oklab, var(--key) 22%, transparent), transparent 55%),
      radial-gradient(
        circle at 75% 70%,
        color-mix(in oklab, var(--orange) 20%, transparent),
        transparent 55%
      ),
      var(--raised);
    border: 1px dashed var(--edge-strong);
  }
  .image.small .picture {
    width: min(100%, 10rem);
  }
  .image.large .picture {
    width: 100%;
  }
  /* A log takes what room there is, however long it is. */
  .page:has(> .text > pre) {
    grid-template-rows: minmax(10rem, 1fr);
    align-content: stretch;
  }
  .text:has(pre) {
    display: grid;
  }
  pre {
    contain: size;
    margin: 0;
    overflow: auto;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font: 0.875rem/1.5 var(--mono);
  }
  textarea {
    resize: vertical;
    font: 0.9rem/1.5 var(--mono);
  }
  hr {
    border: 0;
    border-top: 1px solid var(--line);
    margin: 0.2rem 0;
  }
`,fn=[an,cn];var un=Object.defineProperty,hn=Object.getOwnPropertyDescriptor,G=(e,t,n,o)=>{for(var r=o>1?void 0:o?hn(t,n):t,s=e.length-1,i;s>=0;s--)(i=e[s])&&(r=(o?i(t,n,r):i(r))||r);return o&&r&&un(t,n,r),r};const pn={up:"ascending",down:"descending"};let C=class extends rt{constructor(){super(...arguments),this.page=null,this.bound={},this.draft=!1,this.theme="light",this.changed=new Set,this.deleted=null}willUpdate(e){if(!e.has("page"))return;const t=e.get("page"),n=new Map(t?[...g(t)].map(r=>[r.id,ie(r)]):[]),o=this.page===null||n.size===0||this.draft?[]:[...g(this.page)];this.changed=new Set(o.filter(r=>n.get(r.id)!==ie(r)).map(({id:r})=>r))}render(){const e=this.page;if(e===null)return M;const t=e.children.some(n=>n.kind==="header");return h`<section
      class="page theme-${p(e,"theme")??this.theme}"
      data-slot=${e.id}
      aria-label=${e.text===""?"Screen":e.text}
      ?inert=${this.draft}
    >
      ${e.text===""||t?M:h`<h2>${e.text}</h2>`} ${this.inside(e)}
    </section>`}inside(e){const t=N(e.children);return J(t,n=>n.id,n=>h`<div class=${this.classes(n)} data-slot=${n.id}>${this.body(n)}</div>`)}classes(e){const t=p(e,"color");return["slot",e.kind,...e.words.filter(n=>n!==t&&!/^\d/.test(n)),...t===void 0?[]:["coloured",`c-${t}`],...this.changed.has(e.id)?["changed"]:[]].join(" ")}body(e){switch(e.kind){case"header":return h`<h2>${e.text}</h2>`;case"text":return this.text(e);case"badge":return h`<span>${e.text}</span>`;case"divider":return h`<hr />`;case"button":return h`<button
          ?disabled=${p(e,"disabled")!==void 0}
          @click=${()=>{this.clicked(e.id,"press")&&this.effect(Ge(this.shown(),e.id,this.values()))}}
        >
          ${e.text}
        </button>`;case"list":return this.list(e);case"checkbox":return this.checkbox(e);case"input":return this.input(e);case"select":return this.select(e);case"slider":return this.slider(e);case"progress":return h`<label
          ><span>${e.text} <span class="figures">${p(e,"value")??0}%</span></span>
          <progress max="100" value=${p(e,"value")??0}></progress
        ></label>`;case"table":return this.table(e);case"tabs":return this.tabs(e);case"chart":return h`<h3>${e.text}</h3>
          ${on(e)}`;case"image":return this.image(e);case"card":return h`${e.text===""?M:h`<h3>${e.text}</h3>`}${this.inside(e)}`;default:return this.inside(e)}}text(e){const{value:t}=this.bound[e.id]??{};return t===void 0?h`<p>${e.text}</p>`:h`<pre role="log" aria-label=${e.text} tabindex="0">${t}</pre>`}list(e){const t=N(e.children),n=J(t,o=>o.id,o=>h`<li
          class=${this.classes(o)}
          data-slot=${o.id}
          @keydown=${r=>this.onEntryKey(r,o.id)}
        >
          ${o.kind==="checkbox"?this.checkbox(o):this.item(o)}
          ${this.removal(o,o.text)}
        </li>`);return h`${e.text===""?M:h`<h3>${e.text}</h3>`}
    ${p(e,"numbered")===void 0?h`<ul>
            ${n}
          </ul>`:h`<ol>
            ${n}
          </ol>`}
    ${this.hiddenNote(e)}`}item({id:e,text:t}){return this.bound[e]?.opens!==!0?h`<span class="says">${t}</span>`:h`<button class="quiet says" @click=${()=>this.clicked(e,"open",t)}>${t}</button>`}removal({id:e},t){return h`<button
      class="quiet remove"
      aria-label="Delete ${t}"
      @click=${()=>this.act({type:"remove",slot:e})}
    >
      ×
    </button>`}hiddenNote(e){const t=e.children.length-N(e.children).length;return t===0?M:h`<p class="hidden-note">
      ${t} hidden
      <button class="quiet" @click=${()=>this.act({type:"filter",slot:e.id,by:"all"})}>
        Show all
      </button>
    </p>`}checkbox(e){return h`<label class="inline check"
      ><input
        type="checkbox"
        .checked=${X(p(e,"on")!==void 0)}
        @change=${()=>this.act({type:"toggle",slot:e.id})}
      /><span class="says">${e.text}</span></label
    >`}input(e){const{value:t,isLong:n=!1,isReadonly:o=!1}=this.bound[e.id]??{},r=i=>{t!==void 0&&this.clicked(e.id,"input",i.target.value)},s=i=>{if(i.key!=="Enter"||i.isComposing)return;const d=i.target;t!==void 0?r(i):this.clicked(e.id,"enter",d.value)?this.effect(Nt(this.shown(),e.id,this.values())):d.value=""};return h`<label
      ><span>${e.text}${p(e,"required")===void 0?"":" *"}</span>
      ${n?h`<textarea
              data-field=${e.id}
              rows="12"
              spellcheck="false"
              ?readonly=${o}
              .value=${X(t??"")}
              @input=${r}
            ></textarea>`:h`<input
              data-field=${e.id}
              type=${p(e,"type")??"text"}
              autocomplete="off"
              ?required=${p(e,"required")!==void 0}
              ?disabled=${p(e,"disabled")!==void 0}
              .value=${t===void 0?M:X(t)}
              @change=${r}
              @keydown=${s}
            />`}
    </label>`}select(e){const{value:t,options:n=e.cells}=this.bound[e.id]??{};return h`<label
      ><span>${e.text}</span>
      <select
        data-field=${e.id}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${o=>{const r=o.target.value;this.clicked(e.id,"choose",r)&&this.effect(Rt(this.shown(),e.id,r))}}
      >
        ${n.map(o=>t===void 0?h`<option>${o}</option>`:h`<option .selected=${o===t}>${o}</option>`)}
      </select></label
    >`}slider(e){const t=p(e,"value")??"50";return h`<label
      ><span>${e.text} <span class="figures">${t}</span></span>
      <input
        data-field=${e.id}
        type="range"
        min="0"
        max="100"
        .value=${X(t)}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${n=>this.act({type:"set",slot:e.id,word:n.target.value})}
    /></label>`}table(e){const t=N(e.children),n=J(t,r=>r.id,r=>h`<tr
          class=${this.classes(r)}
          data-slot=${r.id}
          @keydown=${s=>this.onEntryKey(s,r.id)}
        >
          ${r.cells.map((s,i)=>h`<td class=${/^-?\d/.test(s)?"number":""}>
                ${s}${i===r.cells.length-1?this.removal(r,r.cells[0]??""):M}
              </td>`)}
        </tr>`),o=e.cells.map(r=>{const s=this.draft?null:$e(this.shown(),e.id,r);return h`<th scope="col" aria-sort=${s===null?"none":pn[s]}>
        <button class="quiet" @click=${()=>this.act({type:"sort",slot:e.id,by:r})}>
          ${r}<span aria-hidden="true">${s===null?"":s==="up"?" ↑":" ↓"}</span>
        </button>
      </th>`});return h`<div class="scroll" tabindex="0" role="region" aria-label=${e.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${o}
            </tr>
          </thead>
          <tbody>
            ${n}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(e)}`}tabs(e){const t=N(e.children),n=t.find(r=>p(r,"on")!==void 0)??t[0];return n===void 0?M:h`<div role="tablist" @keydown=${r=>{const s={ArrowRight:1,ArrowLeft:-1}[r.key],i=s===void 0?void 0:t[(t.indexOf(n)+s+t.length)%t.length];i!==void 0&&(r.preventDefault(),this.act({type:"navigate",slot:i.id}),this.updateComplete.then(()=>this.renderRoot.querySelector(`#tab-${i.id}`)?.focus()))}}>
        ${J(t,r=>r.id,r=>h`<button
              class="quiet"
              role="tab"
              id="tab-${r.id}"
              data-slot=${r.id}
              aria-selected=${String(r===n)}
              aria-controls="panel-${e.id}"
              tabindex=${r===n?0:-1}
              @click=${()=>this.act({type:"navigate",slot:r.id})}
            >
              ${r.text}
            </button>`)}
      </div>
      <div role="tabpanel" id="panel-${e.id}" aria-labelledby="tab-${n.id}" tabindex="0">
        ${this.inside(n)}
      </div>`}image(e){return h`<div class="picture" role="img" aria-label="Place of a picture: ${e.text}">
      <span aria-hidden="true">${e.text}</span>
    </div>`}onEntryKey(e,t){const n=e.altKey?{ArrowUp:-1,ArrowDown:1}[e.key]:void 0;if(e.key==="Delete")this.act({type:"remove",slot:t});else if(n!==void 0)this.act({type:"move",slot:t,by:n});else return;e.preventDefault()}shown(){if(this.page===null)throw new Error("there is no page");return this.page}values(){const e=[...this.renderRoot.querySelectorAll("[data-field]")];return Object.fromEntries(e.map(t=>[t.dataset.field??"",t.value]))}clicked(e,t,n=""){const o={element:e,type:t,value:n};return this.dispatchEvent(new CustomEvent("sf-click",{detail:o,bubbles:!0,composed:!0,cancelable:!0}))}act(e){const t="by"in e?String(e.by):"word"in e?e.word:"";if(!this.clicked(e.slot,e.type,t))return;e.type==="remove"&&this.noteDeleted(e.slot);const n=he(this.shown(),e);n!==null&&this.effect({program:n})}noteDeleted(e){const t=this.shadowRoot?.activeElement?.closest(`[data-slot="${e}"]`),n=[...this.renderRoot.querySelectorAll(".remove")];t&&(this.deleted={id:e,place:n.findIndex(o=>t.contains(o))})}updated(){const{deleted:e,page:t}=this;e!==null&&t!==null&&P(t,e.id)===void 0&&(this.deleted=null,lt(this.renderRoot,".remove",e.place));for(const n of this.renderRoot.querySelectorAll("pre"))n.scrollTop=n.scrollHeight}effect(e){for(const t of e.clears??[]){const n=this.renderRoot.querySelector(`[data-field="${t}"]`);n!==null&&n.type!=="range"&&(n.value="")}this.dispatchEvent(new CustomEvent("sf-effect",{detail:e,bubbles:!0,composed:!0})),this.requestUpdate()}};C.styles=[nt,fn];G([V({attribute:!1})],C.prototype,"page",2);G([V({attribute:!1})],C.prototype,"bound",2);G([V({type:Boolean})],C.prototype,"draft",2);G([V()],C.prototype,"theme",2);C=G([ot("sf-screen")],C);export{xn as M,W as N,u as P,kn as U,Ce as a,Je as b,Se as c,On as d,H as e,p as g,En as h,An as i,Ne as n,jn as o,ht as p,P as s,I as t,N as v,g as w};
