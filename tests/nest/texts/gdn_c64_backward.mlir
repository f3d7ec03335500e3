// Gated DeltaNet, backward, heads of 128: chunks of 64 from the last to the first, the gradient of the state in sums.
!keys = !nest.tile<64x128xbf16, swizzled>
!keys16 = !nest.tile<64x128xf16, swizzled>
!keys16_t = !nest.tile<128x64xf16, swizzled>
!half16 = !nest.tile<64x64xf16, swizzled>
!state16 = !nest.tile<128x128xf16, swizzled>
!half_state16 = !nest.tile<64x128xf16, swizzled>
!sums = !nest.tile<64x64xf32, sums>
!wide = !nest.tile<64x128xf32, sums>
!operand = !nest.tile<64x64xf16, operand>
!wide_operand = !nest.tile<64x128xf16, operand>
!decays = !nest.tile<4x64xf32, plain>
nest.kernel "gdn_c64_backward" shared 232448 {
  %q = nest.channel depth 2 : !keys
  %k = nest.channel depth 2 : !keys
  %dO = nest.channel depth 2 : !keys
  %q16 = nest.channel depth 2 over %q : !keys to : !keys16
  %k16 = nest.channel depth 2 over %k : !keys to : !keys16
  %dO16 = nest.channel depth 2 over %dO : !keys to : !keys16
  %S = nest.channel depth 1 : !state16
  %U = nest.channel depth 1 : !keys16
  %T = nest.channel depth 1 : !half16
  %dS = nest.channel depth 1 : !state16
  %dW = nest.channel depth 1 : !keys16
  %P = nest.channel depth 1 : !half16
  %dPA = nest.channel depth 1 : !keys16
  %decays = nest.channel depth 2 : !decays
  nest.role "helper" warps 4 registers 64 {
    nest.sweep "chunks" backward {
      %d = nest.compute "decays"() : () -> !nest.tile<4x64xf32, fragments>
      nest.put %d into %decays : !nest.tile<4x64xf32, fragments> to !decays
      %queries = nest.get %q : !keys
      %exact = nest.compute "f16"(%queries) : (!keys) -> !nest.tile<64x128xf16, fragments>
      nest.put %exact into %q16 : !nest.tile<64x128xf16, fragments> to !keys16
      %queries16 = nest.get %q16 : !keys16
      %keys = nest.get %k16 : !keys16
      %keys_t = nest.transpose %keys : !keys16 -> !keys16_t
      %started = nest.issue "wgmma.shared" %queries16, %keys_t : !keys16, !keys16_t -> !sums
      %QK = nest.await %started : !sums
      nest.release %k16 : !keys16
      nest.release %q16 : !keys16
      %pairs = nest.compute "decayed"(%QK) : (!sums) -> !operand
      nest.put %pairs into %P : !operand to !half16
    }
  }
  nest.role "gradients" warps 4 registers 128 {
    nest.sweep "chunks" backward {
      nest.load "q" ahead 1 into %q : !keys
      nest.load "k" ahead 1 into %k : !keys
      nest.load "do" ahead 1 into %dO : !keys
      nest.load "saved_U" into %U : !keys16
      nest.load "saved_T" into %T : !half16
      nest.load "saved_S" into %S : !state16
      %U0 = nest.get %U : !keys16
      %dS0 = nest.get %dS : !state16
      %from_state = nest.issue "wgmma.shared" %U0, %dS0 : !keys16, !state16 -> !wide
      %dW0 = nest.get %dW : !keys16
      %S0 = nest.get %S : !state16
      %to_state = nest.issue "wgmma.shared" %dW0, %S0 behind %from_state : !wide : !keys16, !state16 -> !wide
      %dPA0 = nest.get %dPA : !keys16
      %dP = nest.part %dPA0 : !keys16 -> !half16
      %dP_t = nest.transpose %dP : !half16 -> !half16
      %queries = nest.get %q16 : !keys16
      %dk0 = nest.issue "wgmma.shared" %dP_t, %queries behind %to_state : !wide : !half16, !keys16 -> !wide
      %dk = nest.await %dk0 : !wide
      nest.store %dk to "dk" : !wide
      nest.release %dS : !state16
      nest.release %U : !keys16
      nest.release %dW : !keys16
      nest.release %q16 : !keys16
      %dO0 = nest.get %dO16 : !keys16
      %dq0 = nest.issue "wgmma.shared" %dO0, %S0 : !keys16, !state16 -> !wide
      %keys = nest.get %k16 : !keys16
      %dq1 = nest.issue "wgmma.shared" %dP, %keys behind %dq0 : !wide : !half16, !keys16 -> !wide
      %dq = nest.await %dq1 : !wide
      nest.store %dq to "dq" : !wide
      nest.release %dO16 : !keys16
      nest.release %k16 : !keys16
      nest.release %dPA : !keys16
      nest.release %S : !state16
    }
  }
  nest.role "chain" copies 2 warps 4 registers 160 {
    %zero = nest.compute "final_gradient"() : () -> !wide
    %first = nest.sweep "chunks" backward carry %zero : !wide {
    ^bb0(%gradient: !wide):
      %keys = nest.get %k : !keys
      %exact = nest.compute "f16_part"(%keys) : (!keys) -> !nest.tile<32x128xf16, fragments>
      nest.put %exact into %k16 : !nest.tile<32x128xf16, fragments> to !keys16
      %dO0 = nest.get %dO : !keys
      %exact_dO = nest.compute "f16_part"(%dO0) : (!keys) -> !nest.tile<32x128xf16, fragments>
      nest.put %exact_dO into %dO16 : !nest.tile<32x128xf16, fragments> to !keys16
      %rounded = nest.compute "round"(%gradient) : (!wide) -> !wide_operand
      nest.put %rounded into %dS : !wide_operand to !state16
      %d = nest.get %decays : !decays
      %dU = nest.compute "chain"(%rounded, %gradient, %d) : (!wide_operand, !wide, !decays) -> !operand
      nest.release %decays : !decays
      %T0 = nest.get %T : !half16
      %P0 = nest.get %P : !half16
      %dW0 = nest.issue "wgmma.registers" %dU, %T0 : !operand, !half16 -> !sums
      %dW1 = nest.await %dW0 : !sums
      nest.release %T : !half16
      nest.release %P : !half16
      %rounded_dW = nest.compute "round"(%dW1) : (!sums) -> !operand
      nest.put %rounded_dW into %dW : !operand to !keys16
      %pairs = nest.compute "pair_gradients"(%dW1) : (!sums) -> !operand
      nest.put %pairs into %dPA : !operand to !keys16
      nest.yield %gradient : !wide
    }
  }
}
