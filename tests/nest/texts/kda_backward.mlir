// Kimi Delta Attention, backward, heads of 128, as it is planned: halves of 32 tokens from the last to the first, a saved
// state for each record of two, and gradients of queries, keys and gates as keys times tokens.
!rows = !nest.tile<32x128xbf16, swizzled>
!gates = !nest.tile<32x128xf32, plain>
!rows16 = !nest.tile<32x128xf16, swizzled>
!rows16_t = !nest.tile<128x32xf16, swizzled>
!state16 = !nest.tile<128x128xf16, swizzled>
!half_state = !nest.tile<128x64xf16, swizzled>
!half_state_t = !nest.tile<64x128xf16, swizzled>
!solve = !nest.tile<32x64xf16, swizzled>
!inverse = !nest.tile<16x16xf16, swizzled>
!both = !nest.tile<64x128xf16, swizzled>
!both_t = !nest.tile<128x64xf16, swizzled>
!pairs = !nest.tile<64x32xtf32, swizzled>
!pairs_t = !nest.tile<32x64xtf32, swizzled>
!state = !nest.tile<64x128xf32, sums>
!state_operand = !nest.tile<64x128xf16, operand>
!values = !nest.tile<64x32xf32, sums>
!keys = !nest.tile<64x64xf32, sums>
!small = !nest.tile<64x16xf32, sums>
!small_operand = !nest.tile<64x16xf16, operand>
nest.kernel "kda_backward" shared 232448 {
  %q = nest.channel depth 2 : !rows
  %k = nest.channel depth 2 : !rows
  %dO = nest.channel depth 2 : !rows
  %g = nest.channel depth 2 : !gates
  %k_out = nest.channel depth 2 : !rows16
  %solve = nest.channel depth 2 : !solve
  %U = nest.channel depth 2 : !rows16
  %S = nest.channel depth 1 : !state16
  %dS = nest.channel depth 1 : !state16
  %both = nest.channel depth 1 : !both
  %pairs = nest.channel depth 1 : !pairs
  nest.role "chain" copies 2 warps 4 registers 144 {
    %zero = nest.compute "final_gradient"() : () -> !state
    %first = nest.sweep "groups" of 2 backward carry %zero : !state {
    ^bb0(%after: !state):
      %before = nest.sweep "group" backward carry %after : !state {
      ^bb0(%G: !state):
        nest.load "dO" ahead 1 into %dO : !rows
        nest.load "saved_R_A_P" ahead 1 into %solve : !solve
        %G16 = nest.compute "round"(%G) : (!state) -> !state_operand
        nest.put %G16 into %dS : !state_operand to !state16
        %written = nest.get %k_out : !rows16
        %written_t = nest.transpose %written : !rows16 -> !rows16_t
        %X0 = nest.issue "wgmma.registers" %G16, %written_t : !state_operand, !rows16_t -> !values
        %X = nest.await %X0 : !values
        %given = nest.get %dO : !rows
        %tiles = nest.get %solve : !solve
        %R = nest.part %tiles : !solve -> !inverse
        %dU:2 = nest.compute "with_outputs"(%X, %given, %tiles) : (!values, !rows, !solve) -> (!small_operand, !small)
        %L0 = nest.issue "wgmma.registers" %dU#0, %R : !small_operand, !inverse -> !small
        %L1 = nest.await %L0 : !small
        %lambda = nest.compute "first_half"(%L1, %dU#1) : (!small, !small) -> !nest.tile<32x64xf16, fragments>
        nest.store %lambda to "dv" : !nest.tile<32x64xf16, fragments>
        %rows = nest.compute "dO_and_lambda"(%lambda, %given) : (!nest.tile<32x64xf16, fragments>, !rows) -> !nest.tile<64x64xf16, fragments>
        nest.put %rows into %both : !nest.tile<64x64xf16, fragments> to !both
        nest.release %dO : !rows
        nest.release %solve : !solve
        %next = nest.compute "previous_gradient"(%G, %lambda, %written) : (!state, !nest.tile<32x64xf16, fragments>, !rows16) -> !state
        nest.release %k_out : !rows16
        %mine = nest.get %both : !both
        %erased = nest.get %U : !rows16
        %erased_t = nest.transpose %erased : !rows16 -> !rows16_t
        %E0 = nest.issue "wgmma.shared" %mine, %erased_t : !both, !rows16_t -> !values
        %E = nest.await %E0 : !values
        nest.release %both : !both
        nest.release %U : !rows16
        %half = nest.compute "triangle_times_beta"(%E) : (!values) -> !nest.tile<32x32xtf32, fragments>
        nest.put %half into %pairs : !nest.tile<32x32xtf32, fragments> to !pairs
        nest.yield %next : !state
      }
      nest.yield %before : !state
    }
  }
  nest.role "keys" copies 2 warps 4 registers 112 {
    nest.sweep "groups" of 2 backward {
      nest.load "saved_S" into %S : !state16
      %state = nest.get %S : !state16
      nest.sweep "group" backward {
        nest.load "q" ahead 1 into %q : !rows
        nest.load "k" ahead 1 into %k : !rows
        nest.load "g" ahead 1 into %g : !gates
        nest.load "saved_U" ahead 1 into %U : !rows16
        %gates = nest.get %g : !gates
        %keys = nest.get %k : !rows
        %queries = nest.get %q : !rows
        %out = nest.compute "key_to_end"(%gates, %keys) : (!gates, !rows) -> !nest.tile<32x64xf16, fragments>
        nest.put %out into %k_out : !nest.tile<32x64xf16, fragments> to !rows16
        %gradient = nest.get %dS : !state16
        %part = nest.part %gradient : !state16 -> !half_state
        %part_t = nest.transpose %part : !half_state -> !half_state_t
        %rows = nest.get %both : !both
        %rows_t = nest.transpose %rows : !both -> !both_t
        %reads0 = nest.issue "wgmma.shared" %part_t, %rows_t : !half_state_t, !both_t -> !keys
        %reads = nest.await %reads0 : !keys
        nest.release %dS : !state16
        nest.release %both : !both
        %factors = nest.compute "factors"(%gates, %keys, %queries) : (!gates, !rows, !rows) -> !nest.tile<64x32xtf32, operand>
        %dPA = nest.get %pairs : !pairs
        %dPA_t = nest.transpose %dPA : !pairs -> !pairs_t
        %grads0 = nest.issue "wgmma.registers" %factors, %dPA_t add %reads : !keys : !nest.tile<64x32xtf32, operand>, !pairs_t -> !keys
        %grads = nest.await %grads0 : !keys
        nest.release %pairs : !pairs
        %made = nest.compute "dq_dk_dg"(%grads, %gates, %state) : (!keys, !gates, !state16) -> !keys
        nest.store %made to "dq dk dg" : !keys
        nest.release %g : !gates
        nest.release %k : !rows
        nest.release %q : !rows
      }
      nest.release %S : !state16
    }
  }
}
