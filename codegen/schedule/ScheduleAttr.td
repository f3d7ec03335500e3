// The attribute `schedule` of programs and kernels.
#ifndef WKVC_SCHEDULE_ATTR
#define WKVC_SCHEDULE_ATTR

include "mlir/IR/AttrTypeBase.td"

def Wkvc_Schedule : Attr<CPred<"::llvm::isa<::wkvc::ScheduleAttr>($_self)">, "a schedule, #wkvc.schedule<...>"> {
  let storageType = "::wkvc::ScheduleAttr";
  let returnType = "::wkvc::Schedule";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::wkvc::ScheduleAttr::get($_builder.getContext(), $0)";
}

#endif
