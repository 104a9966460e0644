#include "strata/status.h"
#include "tools/admin/commands.h"

namespace strata::admin {

Status RunCommand(const Request& request, std::string* out) {
  using enum Request::Command;
  switch (request.command) {
    case kStatus:
      return RunStatus(request, out);
    case kStats:
      return RunStats(request, out);
    case kTables:
      return RunTables(request, out);
    case kTableCreate:
      return RunTableCreate(request, out);
    case kTableDrop:
      return RunTableDrop(request, out);
    case kGet:
      return RunGet(request, out);
    case kPut:
      return RunPut(request, out);
    case kPush:
      return RunPush(request, out);
    case kScan:
      return RunScan(request, out);
    case kErase:
      return RunErase(request, out);
    case kTopology:
      return RunTopology(request, out);
    case kTopologyCost:
      return RunTopologyCost(request, out);
    case kConfigCheck:
      return RunConfigCheck(request, out);
    case kPing:
      return RunPing(request, out);
    case kDrain:
      return RunDrain(request, out);
    case kShutdown:
      return RunShutdown(request, out);
    case kClients:
      return RunClients(request, out);
    case kClientsEvict:
      return RunClientsEvict(request, out);
    case kCheckpoint:
      return RunCheckpoint(request, out);
    case kCheckpointList:
      return RunCheckpointList(request, out);
    case kRestore:
      return RunRestore(request, out);
    case kVerify:
      return RunVerify(request, out);
    case kExport:
      return RunExport(request, out);
    case kKey:
      return RunKey(request, out);
    case kCollectionCreate:
      return RunCollectionCreate(request, out);
    case kCollectionLoad:
      return RunCollectionLoad(request, out);
    case kCollectionExport:
      return RunCollectionExport(request, out);
    case kCollectionDrop:
      return RunCollectionDrop(request, out);
    case kCollectionStats:
      return RunCollectionStats(request, out);
    case kCollectionGet:
      return RunCollectionGet(request, out);
    case kCollectionDelete:
      return RunCollectionDelete(request, out);
    case kCollectionSearch:
      return RunCollectionSearch(request, out);
    case kCollectionExplain:
      return RunCollectionExplain(request, out);
  }
  return Internal("a command that nobody carries out");
}

}  // namespace strata::admin
