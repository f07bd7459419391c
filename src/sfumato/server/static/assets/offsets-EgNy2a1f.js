/**
 * @license
 * Copyright 2017 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const h={ATTRIBUTE:1,CHILD:2,PROPERTY:3,BOOLEAN_ATTRIBUTE:4},n=e=>(...s)=>({_$litDirective$:e,values:s});class a{constructor(s){}get _$AU(){return this._$AM._$AU}_$AT(s,t,i){this._$Ct=s,this._$AM=t,this._$Ci=i}_$AS(s,t){return this.update(s,t)}update(s,t){return this.render(...t)}}class u{constructor(s){this.pairs=[];for(let t=0;t<s.length;t++)(s.codePointAt(t)??0)>65535&&this.pairs.push(t++)}toCharacters(s){return s-this.numPairs(t=>t<s)}toUnits(s){return s+this.numPairs((t,i)=>t-i<s)}numPairs(s){let[t,i]=[0,this.pairs.length];for(;t<i;){const r=t+i>>1;s(this.pairs[r]??0,r)?t=r+1:i=r}return t}}export{u as O,n as e,a as i,h as t};
