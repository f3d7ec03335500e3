// RWKV-7, forward, heads of 64 in two parts, one role: operands of any size in f16, each with a power of two that follows
// from its largest number. Each warp says what it found in its columns, and takes the scale from all of them.
!token = !nest.tile<16x64xbf16, padded>
!values = !nest.tile<16x32xbf16, padded>
!key16 = !nest.tile<16x64xf16, padded>
!made16 = !nest.tile<16x64xf16, fragments>
!small16 = !nest.tile<16x16xf16, padded>
!maxima = !nest.tile<2x5xf32, plain>
!scales = !nest.tile<1x4xf32, plain>
!sums = !nest.tile<32x16xf32, fragments>
!state = !nest.tile<32x64xf32, fragments>
!state16 = !nest.tile<32x64xf16, fragments>
nest.kernel "rwkv7_forward_scaled" shared 60000 parts 2 {
  %r = nest.channel depth 2 : !token
  %w = nest.channel depth 2 : !token
  %k = nest.channel depth 2 : !token
  %a = nest.channel depth 2 : !token
  %b = nest.channel depth 2 : !token
  %v = nest.channel depth 2 : !values
  %maxima = nest.channel depth 1 : !maxima
  %scales = nest.channel depth 1 : !scales
  %a_in = nest.channel depth 1 : !key16
  %b_out = nest.channel depth 1 : !key16
  %k_out = nest.channel depth 1 : !key16
  %r_in = nest.channel depth 1 : !key16
  %AK = nest.channel depth 1 : !small16
  %M = nest.channel depth 1 : !small16
  %RK = nest.channel depth 1 : !small16
  %RB = nest.channel depth 1 : !small16
  nest.role "all" warps 2 registers 168 {
    %initial = nest.compute "initial_state"() : () -> !state
    %last = nest.sweep "chunks" carry %initial : !state {
    ^bb0(%S: !state):
      nest.load "r" ahead 1 into %r : !token
      nest.load "w" ahead 1 into %w : !token
      nest.load "k" ahead 1 into %k : !token
      nest.load "a" ahead 1 into %a : !token
      nest.load "b" ahead 1 into %b : !token
      nest.load "v" ahead 1 into %v : !values
      %r0 = nest.get %r : !token
      %w0 = nest.get %w : !token
      %k0 = nest.get %k : !token
      %a0 = nest.get %a : !token
      %b0 = nest.get %b : !token
      %v0 = nest.get %v : !values
      %largest = nest.compute "maxima"(%r0, %k0, %a0, %b0, %v0) : (!token, !token, !token, !token, !values) -> !nest.tile<2x5xf32, fragments>
      nest.put %largest into %maxima : !nest.tile<2x5xf32, fragments> to !maxima
      %all = nest.get %maxima : !maxima
      %factors:4 = nest.compute "scaled_factors"(%r0, %w0, %k0, %a0, %b0, %all) : (!token, !token, !token, !token, !token, !maxima) -> (!made16, !made16, !made16, !made16)
      nest.release %r : !token
      nest.release %w : !token
      nest.release %k : !token
      nest.release %a : !token
      nest.release %b : !token
      nest.put %factors#0 into %r_in : !made16 to !key16
      nest.put %factors#1 into %k_out : !made16 to !key16
      nest.put %factors#2 into %a_in : !made16 to !key16
      nest.put %factors#3 into %b_out : !made16 to !key16
      %pairs:5 = nest.compute "scaled_pairs"(%factors#0, %factors#1, %factors#2, %factors#3) : (!made16, !made16, !made16, !made16) -> (!nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>, !nest.tile<16x16xf16, fragments>, !nest.tile<1x4xf32, fragments>)
      nest.put %pairs#0 into %AK : !nest.tile<16x16xf16, fragments> to !small16
      nest.put %pairs#1 into %M : !nest.tile<16x16xf16, fragments> to !small16
      nest.put %pairs#2 into %RK : !nest.tile<16x16xf16, fragments> to !small16
      nest.put %pairs#3 into %RB : !nest.tile<16x16xf16, fragments> to !small16
      nest.put %pairs#4 into %scales : !nest.tile<1x4xf32, fragments> to !scales
      %S16:2 = nest.compute "round_with_own_scale"(%S) : (!state) -> (!state16, !nest.tile<1x1xf32, fragments>)
      %a1 = nest.get %a_in : !key16
      %A = nest.compute "load_transposed"(%a1) : (!key16) -> !nest.tile<64x16xf16, fragments>
      %U0 = nest.multiply "mma.sync" %S16#0, %A : !state16, !nest.tile<64x16xf16, fragments> -> !sums
      %AK0 = nest.get %AK : !small16
      %M0 = nest.get %M : !small16
      %of_pairs = nest.get %scales : !scales
      %U = nest.compute "solve_scaled"(%U0, %v0, %AK0, %M0, %S16#1, %of_pairs, %all) : (!sums, !values, !small16, !small16, !nest.tile<1x1xf32, fragments>, !scales, !maxima) -> !nest.tile<32x16xf16, fragments>
      %r1 = nest.get %r_in : !key16
      %RK0 = nest.get %RK : !small16
      %RB0 = nest.get %RB : !small16
      %O = nest.compute "scaled_outputs"(%S16#0, %r1, %RK0, %RB0, %v0, %U, %of_pairs) : (!state16, !key16, !small16, !small16, !values, !nest.tile<32x16xf16, fragments>, !scales) -> !sums
      nest.store %O to "o" : !sums
      %b1 = nest.get %b_out : !key16
      %k1 = nest.get %k_out : !key16
      %next = nest.compute "next_state"(%S, %U, %v0, %b1, %k1, %all) : (!state, !nest.tile<32x16xf16, fragments>, !values, !key16, !key16, !maxima) -> !state
      nest.release %v : !values
      nest.release %maxima : !maxima
      nest.release %scales : !scales
      nest.release %a_in : !key16
      nest.release %b_out : !key16
      nest.release %k_out : !key16
      nest.release %r_in : !key16
      nest.release %AK : !small16
      nest.release %M : !small16
      nest.release %RK : !small16
      nest.release %RB : !small16
      nest.yield %next : !state
    }
    nest.store %last to "final_state" : !state
  }
}
