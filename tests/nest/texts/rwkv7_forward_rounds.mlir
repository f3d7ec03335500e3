// RWKV-7, forward, heads of 64, rounds of two chunks of 16: the state's warps prepare one each in two teams, then take the
// state through both.
!token = !nest.tile<16x64xbf16, padded>
!key16 = !nest.tile<16x64xf16, padded>
!small16 = !nest.tile<16x16xf16, padded>
!sums = !nest.tile<32x16xf32, fragments>
!state = !nest.tile<32x64xf32, fragments>
nest.kernel "rwkv7_forward" shared 60000 {
  %r = nest.channel depth 2 : !token
  %w = nest.channel depth 2 : !token
  %k = nest.channel depth 2 : !token
  %a = nest.channel depth 2 : !token
  %b = nest.channel depth 2 : !token
  %v = nest.channel depth 2 : !token
  %a_in = nest.channel depth 2 : !key16
  %b_out = nest.channel depth 2 : !key16
  %k_out = nest.channel depth 2 : !key16
  %r_in = nest.channel depth 2 : !key16
  %e_last = nest.channel depth 2 : !nest.tile<1x64xf32, plain>
  %AK = nest.channel depth 2 : !small16
  %M = nest.channel depth 2 : !small16
  %RK = nest.channel depth 2 : !small16
  %RB = nest.channel depth 2 : !small16
  nest.role "all" copies 2 warps 2 registers 168 {
    %initial = nest.compute "initial_state"() : () -> !state
    %last = nest.sweep "groups" of 2 carry %initial : !state {
    ^bb0(%S_round: !state):
      nest.sweep "group" dealt {
        nest.load "r" into %r : !token
        nest.load "w" into %w : !token
        nest.load "k" into %k : !token
        nest.load "a" into %a : !token
        nest.load "b" into %b : !token
        nest.load "v" into %v : !token
        %r0 = nest.get %r : !token
        %w0 = nest.get %w : !token
        %k0 = nest.get %k : !token
        %a0 = nest.get %a : !token
        %b0 = nest.get %b : !token
        %factors:5 = nest.compute "factors"(%r0, %w0, %k0, %a0, %b0) : (!token, !token, !token, !token, !token) -> (!nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>, !nest.tile<1x64xf32, fragments>)
        nest.release %r : !token
        nest.release %w : !token
        nest.release %k : !token
        nest.release %a : !token
        nest.release %b : !token
        nest.put %factors#0 into %r_in : !nest.tile<16x64xf16, fragments> to !key16
        nest.put %factors#1 into %k_out : !nest.tile<16x64xf16, fragments> to !key16
        nest.put %factors#2 into %a_in : !nest.tile<16x64xf16, fragments> to !key16
        nest.put %factors#3 into %b_out : !nest.tile<16x64xf16, fragments> to !key16
        nest.put %factors#4 into %e_last : !nest.tile<1x64xf32, fragments> to !nest.tile<1x64xf32, plain>
        %pairs:4 = nest.compute "pairs"(%factors#0, %factors#1, %factors#2, %factors#3) : (!nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>, !nest.tile<16x64xf16, fragments>) -> (!nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>)
        nest.put %pairs#0 into %AK : !nest.tile<16x16xf16, fragments> to !small16
        nest.put %pairs#1 into %M : !nest.tile<16x16xf16, fragments> to !small16
        nest.put %pairs#2 into %RK : !nest.tile<16x16xf16, fragments> to !small16
        nest.put %pairs#3 into %RB : !nest.tile<16x16xf16, fragments> to !small16
      }
      %behind = nest.sweep "group" carry %S_round : !state {
      ^bb0(%S: !state):
        %S16 = nest.compute "round"(%S) : (!state) -> !nest.tile<32x64xf16, fragments>
        %a0 = nest.get %a_in : !key16
        %A = nest.compute "load_transposed"(%a0) : (!key16) -> !nest.tile<64x16xf16, fragments>
        %U0 = nest.multiply "mma.sync" %S16, %A : !nest.tile<32x64xf16, fragments>, !nest.tile<64x16xf16, fragments> -> !sums
        %v0 = nest.get %v : !token
        %AK0 = nest.get %AK : !small16
        %M0 = nest.get %M : !small16
        %U = nest.compute "solve"(%U0, %v0, %AK0, %M0) : (!sums, !token, !small16, !small16) -> !nest.tile<32x16xf16, fragments>
        %r0 = nest.get %r_in : !key16
        %RK0 = nest.get %RK : !small16
        %RB0 = nest.get %RB : !small16
        %O = nest.compute "outputs"(%S16, %r0, %RK0, %RB0, %v0, %U) : (!nest.tile<32x64xf16, fragments>, !key16, !small16, !small16, !token, !nest.tile<32x16xf16, fragments>) -> !sums
        nest.store %O to "o" : !sums
        %e0 = nest.get %e_last : !nest.tile<1x64xf32, plain>
        %decayed = nest.compute "decay"(%S, %e0) : (!state, !nest.tile<1x64xf32, plain>) -> !state
        %b0 = nest.get %b_out : !key16
        %B = nest.compute "load"(%b0) : (!key16) -> !nest.tile<16x64xf16, fragments>
        %with_b = nest.multiply "mma.sync" %U, %B add %decayed : !state : !nest.tile<32x16xf16, fragments>, !nest.tile<16x64xf16, fragments> -> !state
        %k0 = nest.get %k_out : !key16
        %next = nest.compute "add_outer"(%with_b, %v0, %k0) : (!state, !token, !key16) -> !state
        nest.release %a_in : !key16
        nest.release %b_out : !key16
        nest.release %k_out : !key16
        nest.release %r_in : !key16
        nest.release %e_last : !nest.tile<1x64xf32, plain>
        nest.release %AK : !small16
        nest.release %M : !small16
        nest.release %RK : !small16
        nest.release %RB : !small16
        nest.release %v : !token
        nest.yield %next : !state
      }
      nest.yield %behind : !state
    }
    nest.store %last to "final_state" : !state
  }
}
