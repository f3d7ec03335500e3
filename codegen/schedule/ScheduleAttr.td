// Attributes that programs and kernels have alike.
#ifndef WKVC_SCHEDULE_ATTR
#define WKVC_SCHEDULE_ATTR

include "mlir/IR/AttrTypeBase.td"

def Wkvc_Schedule : Attr<CPred<"::llvm::isa<::wkvc::ScheduleAttr>($_self)">, "a schedule, #wkvc.schedule<...>"> {
  let storageType = "::wkvc::ScheduleAttr";
  let returnType = "::wkvc::Schedule";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::wkvc::ScheduleAttr::get($_builder.getContext(), $0)";
}

// Parts that the value rows of a head are dealt to.
def Wkvc_PartCount : AttrConstraint<
    CPred<"::wkvc::rec::is_part_count(::llvm::cast<::mlir::IntegerAttr>($_self).getInt())">, "from 1 to 32">;
def Wkvc_Parts : DefaultValuedAttr<ConfinedAttr<I64Attr, [Wkvc_PartCount]>, "1">;

#endif
