// WatchHub: many open watches on few tasks.
//
// A watch that has something to say is put in a queue; a few tasks take watches from it, write what there is and go on
// to the next. A watch takes a bounded turn, so that one with a long history does not keep the others waiting. One more
// task looks after time: ends and bookmarks. A client that reads too slowly is cut off by its stream's buffer and comes
// back where it was.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apistore/rest/table.h"
#include "apistore/service/service.h"
#include "base/result.h"
#include "base/runtime.h"
#include "net/http_server.h"

namespace strake::apistore::rest {

/// How the objects of a watch are written.
struct WatchEncoding {
  const TableLayout* table = nullptr;  ///< not null: as Tables with these options
  TableOptions table_options;
  bool metadata_only = false;
  std::shared_ptr<const void> hold{};  ///< kept while the watch is open
};

struct WatchHubOptions {
  unsigned tasks = 2;
  runtime::Duration tick = std::chrono::seconds(1);  ///< how exactly ends and bookmarks keep their time
  /// Must hold what a client may take a moment to read: at least a few of the largest objects.
  std::size_t buffer_bytes = 32u << 20;
};

class WatchHub {
 public:
  WatchHub(runtime::Runtime& runtime, WatchHubOptions options = {});
  /// Ends every watch.
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  /// Opens a watch; from then on the hub answers. On error nothing was answered yet.
  using Open = std::function<Result<std::unique_ptr<Watch>>(std::function<void()> ready)>;
  Status serve(const Open& open, WatchEncoding encoding, const net::ResponseHead& head,
               const net::Responder& responder);

  std::size_t open_watches() const;
  /// Ends every watch and its tasks; serve() answers kUnavailable from then on. The service may go after this.
  void stop();

 private:
  class Session;
  struct Core;

  static void run(Core& core, const std::stop_token& stop);
  static void keep_time(Core& core, runtime::Duration tick, const std::stop_token& stop);

  const WatchHubOptions options_;
  std::shared_ptr<Core> core_;  ///< shared with callbacks that may come late
  std::vector<runtime::Task> tasks_;
};

}  // namespace strake::apistore::rest
