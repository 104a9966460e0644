// MachineParameters: which threads, GPUs and machines do the work. Models do not depend on them,
// but for tree_learner = voting, which is an approximation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

struct MachineParameters {
  int64_t num_threads = 0;  // 0 or less: one a core
  std::string device_type = "cpu";
  int64_t num_gpu = 1;                      // from the device's on
  std::vector<int64_t> gpu_device_id_list;  // of num_gpu above 1; empty: as num_gpu says

  std::string tree_learner = "serial";
  int64_t top_k = 20;          // of tree_learner = voting
  bool pre_partition = false;  // each rank has a file of its own
  // The ranks that train together, where no cluster file says it.
  int64_t num_machines = 0;           // 0: as many as are listed
  std::vector<std::string> machines;  // "10.0.0.1:12400"
  std::string machine_list_filename;
  int64_t local_listen_port = 0;  // 0: tells no machines apart
  int64_t time_out = 0;           // minutes; 0: as the cluster's settings say
};

}  // namespace strata
