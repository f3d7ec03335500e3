// Runs all blocks of a grid, as many clusters of them side by side as there are cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>

#include "wkvc/host/cluster.h"
#include "wkvc/host/thread_group.h"

namespace wkvc::host {

template <class Body>
class Grid {
 public:
  Grid(const GridShape& shape, Launch& launch, const Body& body)
      : shape_(shape),
        clusters_(launch.blocks > 0 ? launch.blocks / shape.cluster : shape.batches * shape.heads * shape.segments),
        body_(body),
        launch_(launch),
        report_(launch) {}

  // kDone, or what happened to the launch; its message says why.
  int run() {
    Cluster cluster(shape_, launch_);
    {
      ThreadGroup helpers;
      start(helpers);
      run_clusters(cluster);
    }
    return report_.result();
  }

 private:
  // A launch takes fewer threads where the machine has no more.
  void start(ThreadGroup& helpers) {
    try {
      for (long long n = 1; n < threads(); ++n) helpers.start([this] { help(); });
    } catch (const std::exception&) {
    }
  }
  void help() {
    try {
      Cluster cluster(shape_, launch_);
      run_clusters(cluster);
    } catch (const std::exception&) {  // the machine has no memory for one more
    }
  }

  // This one included.
  long long threads() const {
    return std::min(clusters_, launch_.threads > 0 ? launch_.threads : Warps::clusters_at_once());
  }

  // Takes what is next of the grid until nothing is left, or until some cluster fails: those before it are being run.
  void run_clusters(Cluster& cluster) {
    while (report_.result() == kDone) {
      const long long index = next_.fetch_add(1);
      if (index >= clusters_) return;
      cluster.run(index, body_, report_);
    }
  }

  GridShape shape_;
  long long clusters_;
  const Body& body_;
  const Launch& launch_;
  Report report_;
  std::atomic<long long> next_{0};
};

// kDone, or another result with launch.message set.
template <class Body>
int run_grid(const GridShape& shape, Launch& launch, const Body& body) {
  try {
    return Grid<Body>(shape, launch, body).run();
  } catch (const std::exception& error) {  // no memory for the blocks
    std::snprintf(launch.message, sizeof(launch.message), "%s", error.what());
    return kStarved;
  }
}

}  // namespace wkvc::host
