// Work that several threads share. Internal to wkvc.
#pragma once

#include <cstddef>
#include <functional>

namespace wkvc {

// Calls work(0) to work(count - 1), each once, in this thread and in as many more as make `threads` and as the machine
// gives. Returns when all have ended. After an exception no further call begins; the first exception is thrown again.
void side_by_side(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work);

// The same with a thread for each processor.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace wkvc
