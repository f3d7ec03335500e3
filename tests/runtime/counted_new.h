// Every allocation on the heap of a program that is linked with counted_new.cpp.
#pragma once

namespace wkvc {

long allocations();  // so far, by operator new in any of its forms

}  // namespace wkvc
