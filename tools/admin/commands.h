// The commands of strata-admin. Each writes its whole answer to *out, as a table or as one JSON
// object a line, and returns what went wrong. An answer and an error can come together: a status of
// a cluster with a dead node is complete, and kLost.
#pragma once

#include <string>

#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

Status RunStatus(const Request& request, std::string* out);  // all nodes
Status RunStats(const Request& request, std::string* out);   // all servers
Status RunTables(const Request& request, std::string* out);  // all servers
Status RunTableCreate(const Request& request, std::string* out);
Status RunTableDrop(const Request& request, std::string* out);  // kRefused without yes
Status RunGet(const Request& request, std::string* out);
Status RunPut(const Request& request, std::string* out);
Status RunPush(const Request& request, std::string* out);
// Writes the rows to stdout page by page, as they may be more than memory holds, and to *out how it
// ended.
Status RunScan(const Request& request, std::string* out);
Status RunErase(const Request& request, std::string* out);     // rows that are missing are no error
Status RunTopology(const Request& request, std::string* out);  // asks nobody
Status RunTopologyCost(const Request& request, std::string* out);  // asks nobody
Status RunConfigCheck(const Request& request, std::string* out);   // asks nobody
Status RunPing(const Request& request, std::string* out);
Status RunDrain(const Request& request, std::string* out);
Status RunShutdown(const Request& request, std::string* out);      // kRefused without yes
Status RunClients(const Request& request, std::string* out);       // all servers
Status RunClientsEvict(const Request& request, std::string* out);  // kNotFound: no server knows it
Status RunCheckpoint(const Request& request, std::string* out);    // all servers
Status RunCheckpointList(const Request& request, std::string* out);  // all servers
Status RunRestore(const Request& request, std::string* out);         // kRefused without yes
Status RunVerify(const Request& request, std::string* out);  // asks nobody; kCorrupt: findings
Status RunExport(const Request& request, std::string* out);  // asks nobody
Status RunKey(const Request& request, std::string* out);     // asks nobody
Status RunCollectionCreate(const Request& request, std::string* out);
Status RunCollectionLoad(const Request& request, std::string* out);    // progress goes to stderr
Status RunCollectionExport(const Request& request, std::string* out);  // progress likewise
Status RunCollectionDrop(const Request& request, std::string* out);    // kRefused without yes
Status RunCollectionStats(const Request& request, std::string* out);
// The answer is of the documents that there are; kNotFound when some are not.
Status RunCollectionGet(const Request& request, std::string* out);
Status RunCollectionDelete(const Request& request, std::string* out);  // missing ids are no error
Status RunCollectionSearch(const Request& request, std::string* out);
Status RunCollectionExplain(const Request& request, std::string* out);  // searches, too

// Whichever of the above the request names.
Status RunCommand(const Request& request, std::string* out);

}  // namespace strata::admin
