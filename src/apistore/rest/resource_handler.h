// Requests for resources: each verb of HTTP turned into a call of the Service, and its answer into a response.
#pragma once

#include <optional>

#include "apistore/guard/user_guard.h"
#include "apistore/rest/authentication.h"
#include "apistore/rest/request.h"
#include "apistore/rest/table.h"
#include "apistore/rest/watch_hub.h"
#include "apistore/service/service.h"
#include "net/http_server.h"

namespace strake::apistore::rest {

class ResourceHandler {
 public:
  /// All must outlive it.
  ResourceHandler(Service& service, const Tables& tables, WatchHub& watches, UserGuard& guard)
      : service_(service), tables_(tables), watches_(watches), guard_(guard) {}

  /// The answer, or nullopt when a watch was opened and the hub answers. `name` gets that of a new object.
  std::optional<net::Response> serve(const Identity& identity, const ResourcePath& path, Verb verb,
                                     const net::ServerRequest& http, const net::Responder& responder,
                                     std::string& name);

 private:
  struct Call;

  Result<net::Response> get(Call& call);
  Result<net::Response> list(Call& call, const Caller& user);
  Result<net::Response> create(Call& call, std::string& name);
  Result<net::Response> evict(Call& call);
  Result<net::Response> update(Call& call);
  Result<net::Response> patch(Call& call);
  Result<net::Response> remove(Call& call);
  Result<net::Response> remove_collection(Call& call, const Caller& user);
  Status watch(Call& call, const Identity& identity, const net::Responder& responder);

  Result<net::Response> answer_object(const Call& call, int status, std::string text) const;
  Result<net::Response> answer_list(const Call& call, const ListAnswer& answer) const;
  Result<TableOptions> table_options(const Call& call) const;
  const TableLayout& layout(const Call& call) const;

  Service& service_;
  const Tables& tables_;
  WatchHub& watches_;
  UserGuard& guard_;
};

}  // namespace strake::apistore::rest
