#include "storage/memory/host_store.h"
#include "worker/session.h"

namespace strata {
namespace {

// Nothing here ever waits for anybody, so there is nothing to cancel and nobody to tell.
class EmbeddedSession final : public Session {
 public:
  EmbeddedSession() : store_(MakeHostStore()) {}

  Group& group() override { return group_; }
  TableStore& store() override { return *store_; }
  int servers() const override { return 0; }
  void Cancel(const Status& /*status*/) override {}
  Status DropLeftover(const std::string& table) override { return store_->DropTable(table); }
  Status Close(const Status& outcome) override { return outcome; }

 private:
  SingleGroup group_;
  std::unique_ptr<TableStore> store_;
};

}  // namespace

std::unique_ptr<Session> MakeEmbeddedSession() { return std::make_unique<EmbeddedSession>(); }

}  // namespace strata
