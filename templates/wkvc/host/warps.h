// How the warps of a cluster run: as fibers, or as threads where a sanitizer watches, which does not follow fibers.
#pragma once

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WKVC_WARPS_ARE_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define WKVC_WARPS_ARE_THREADS
#endif
#endif

#ifdef WKVC_WARPS_ARE_THREADS
#include "wkvc/host/threads.h"
#else
#include "wkvc/host/fibers.h"
#endif

namespace wkvc::host {

#ifdef WKVC_WARPS_ARE_THREADS
using Warps = Threads;
#else
using Warps = Fibers;
#endif

}  // namespace wkvc::host
