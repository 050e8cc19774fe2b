#include <algorithm>

#include "api/kinds.h"
#include "api/machine_set.h"
#include "base/fd.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/stub_input.h"
#include "cmd/input/text_input.h"
#include "stub/convert.h"

namespace strake::cmd {

namespace {

constexpr std::string_view kConvertToWords[] = {"3.1", "3.2", "3.3", "3.4", "3.5"};
constexpr std::string_view kCopySuffix = "-spec3";

constexpr ArgumentSpec kStubConvertArguments[] = {{"SECRET", "name of the stub's Secret, in a cluster", false}};
constexpr OptionSpec kStubConvertOptions[] = {
    {"f,filename", "FILE", "a stub or a whole config in a file, - for standard input; the result is printed", "",
     kFileValue},
    {"to", "VERSION", "spec version of the result: 3.1 to 3.5; every image since 4.6 reads 3.1", "3.1",
     one_of(kConvertToWords)},
    {"machineset", "NAMES",
     "in a cluster: the sets that are to use the converted copy; `all` for all that use the stub", "", kListValue},
    {"undo", "", "point the sets back at the stub the copy was made from; both Secrets stay"},
    {"dry-run", "", "say what would be done, and do nothing"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

ignition::SpecVersion wanted_version(const Invocation& invocation) {
  return {3, static_cast<int>(invocation.choice<std::size_t>("to")) + 1};
}

Result<int> convert_file(const Invocation& invocation) {
  const std::string& file = invocation.value("filename");
  STRAKE_TRY(const NamedStub named, read_stub_file(file));
  STRAKE_TRY_CONTEXT(const stub::Converted converted, stub::convert_stub(named.found.bytes, wanted_version(invocation)),
                     "{}", shown_path(file));
  if (!converted.changed) {
    invocation.out().warn(fmt::format("{} is of spec {} already; nothing was changed", shown_path(file),
                                      ignition::to_string(converted.from)));
  }
  invocation.out().document(converted.text);
  return kExitOk;
}

/// One move of one set from a Secret to another.
struct Repointing {
  kube::ObjectPtr set;
  std::string from;
  std::string to;
  json::Value patch;
};

std::vector<std::string> set_names(const std::vector<kube::ObjectPtr>& sets) {
  std::vector<std::string> names;
  names.reserve(sets.size());
  for (const kube::ObjectPtr& set : sets) names.push_back(set->name());
  return names;
}

/// The sets that use `from` and were chosen; one that uses `to` already is done.
Result<std::vector<Repointing>> plan_repointing(const ClusterStubs& cluster, const std::vector<std::string>& chosen,
                                                const std::string& ns, const std::string& from, const std::string& to) {
  std::vector<kube::ObjectPtr> users, done;
  for (const kube::ObjectPtr& set : cluster.machine_sets) {
    const auto reference = stub::stub_of(*set);
    if (!reference || reference->ns != ns) continue;
    if (reference->name == from) users.push_back(set);
    if (reference->name == to) done.push_back(set);
  }
  const bool all = std::ranges::find(chosen, "all") != chosen.end();
  for (const std::string& name : chosen) {
    const auto uses = [&](const std::vector<kube::ObjectPtr>& sets) {
      return std::ranges::find(sets, name, [](const kube::ObjectPtr& set) { return set->name(); }) != sets.end();
    };
    if (name == "all" || uses(users) || uses(done)) continue;
    return error(Code::kNotFound, "no machine set '{}' uses Secret {}; {} do", name, from,
                 users.empty() ? "none" : fmt::format("{}", fmt::join(set_names(users), ", ")))
        .with_verdict(Verdict::kAbsent);
  }
  std::vector<Repointing> moves;
  for (const kube::ObjectPtr& set : users) {
    if (!all && std::ranges::find(chosen, set->name()) == chosen.end()) continue;
    STRAKE_TRY(json::Value patch, stub::repoint_patch(*set, from, to));
    moves.push_back({set, from, to, std::move(patch)});
  }
  return moves;
}

bool any_set_uses(const ClusterStubs& cluster, const std::string& ns, const std::string& secret) {
  return std::ranges::any_of(cluster.machine_sets, [&](const kube::ObjectPtr& set) {
    const auto reference = stub::stub_of(*set);
    return reference && reference->ns == ns && reference->name == secret;
  });
}

const kube::Resource& resource_of_set(const kube::Object& set) {
  return api::MachineSetView(set.json()).is_control_plane() ? api::kControlPlaneMachineSet : api::kMachineSet;
}

Status repoint(kube::KubeApi& api, const Repointing& move, const Invocation& invocation, const kube::Call& call) {
  if (invocation.is_set("dry-run")) {
    invocation.out().text(
        fmt::format("would point {} {} from {} to {}\n", move.set->kind(), move.set->name(), move.from, move.to));
    return {};
  }
  const auto patched =
      api.patch(resource_of_set(*move.set), move.set->key(), kube::PatchType::kJson, move.patch, {}, call);
  if (!patched.ok()) {
    return Error(patched.error())
        .context(fmt::format("pointing {} {} at {}", move.set->kind(), move.set->name(), move.to));
  }
  invocation.out().text(fmt::format("{} {}: {} -> {}\n", move.set->kind(), move.set->name(), move.from, move.to));
  return {};
}

/// A copy that is there already must be the same one: somebody may have edited it, and machines may use it.
Status ensure_copy(kube::KubeApi& api, const kube::Object& copy, const Invocation& invocation, const kube::Call& call) {
  if (invocation.is_set("dry-run")) {
    invocation.out().text(fmt::format("would make Secret {}\n", copy.key().to_string()));
    return {};
  }
  const auto made = api.create(kube::core::kSecret, copy, {}, call);
  if (made.ok()) {
    invocation.out().text(fmt::format("made Secret {}\n", copy.key().to_string()));
    return {};
  }
  if (made.error().code() != Code::kExists)
    return Error(made.error()).context("making Secret " + copy.key().to_string());
  STRAKE_TRY(const kube::Object present, api.get(kube::core::kSecret, copy.key(), call));
  const json::Value* ours = json::find(copy.json(), {"data"});
  const json::Value* theirs = json::find(present.json(), {"data"});
  if (theirs != nullptr && *ours == *theirs) return {};
  return error(Code::kExists,
               "Secret {} is there with other contents; remove it if no machine set uses it, or point the sets at it "
               "yourself",
               copy.key().to_string())
      .with_verdict(Verdict::kBlocked);
}

Result<NamedStub> named_stub(const ClusterStubs& cluster, const std::string& name) {
  STRAKE_TRY(std::vector<NamedStub> found, chosen_stubs(cluster.stubs, {name}));
  return std::move(found.front());
}

/// A set of the Cluster API replaces all of its machines when its template changes.
Status check_machine_api(const NamedStub& named) {
  if (named.found.key == stub::kUserDataKey) return {};
  std::vector<std::string> users;
  users.reserve(named.found.users.size());
  for (const stub::StubUser& user : named.found.users) users.push_back(user.to_string());
  return error(Code::kUnsupported,
               "Secret {} belongs to the Cluster API ({}): pointing that at another Secret would replace its machines; "
               "take the config out, convert it with -f FILE, and put it into a new Secret when you want that",
               named.name, fmt::join(users, ", "))
      .with_verdict(Verdict::kBlocked);
}

Result<int> undo_in_cluster(kube::KubeApi& api, const ClusterStubs& cluster, const Invocation& invocation,
                            const kube::Call& call) {
  const std::string& name = invocation.value("SECRET");
  STRAKE_TRY(const NamedStub named, named_stub(cluster, name));
  // Either of the two names says which pair is meant.
  const bool is_copy = !named.found.converted_from.empty();
  const std::string original = is_copy ? named.found.converted_from : named.found.secret;
  const std::string copy = is_copy ? named.found.secret : named.found.secret + std::string(kCopySuffix);
  STRAKE_CHECK_OK(named_stub(cluster, named.found.ns + "/" + original).context("the stub to go back to"));
  std::vector<std::string> chosen = invocation.list("machineset");
  if (chosen.empty()) chosen = {"all"};
  STRAKE_TRY(const std::vector<Repointing> moves, plan_repointing(cluster, chosen, named.found.ns, copy, original));
  for (const Repointing& move : moves) STRAKE_CHECK_OK(repoint(api, move, invocation, call));
  if (moves.empty()) invocation.out().text(fmt::format("no machine set uses Secret {}\n", copy));
  return kExitOk;
}

Result<int> convert_in_cluster(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const ClusterStubs cluster, read_cluster_stubs(*api, call));
  if (invocation.is_set("undo")) return undo_in_cluster(*api, cluster, invocation, call);
  STRAKE_TRY(const NamedStub named, named_stub(cluster, invocation.value("SECRET")));
  STRAKE_CHECK_OK(check_machine_api(named));
  if (!named.found.problem.empty()) {
    return error(Code::kNotFound, "Secret {}: {}", named.name, named.found.problem).with_verdict(Verdict::kAbsent);
  }
  const std::vector<std::string>& chosen = invocation.list("machineset");
  if (chosen.empty()) {
    return error(
        Code::kInvalidArgument,
        "--machineset says which sets are to use the converted copy: their names, or all; the others stay with "
        "the stub they have");
  }
  STRAKE_TRY_CONTEXT(const stub::Converted converted, stub::convert_stub(named.found.bytes, wanted_version(invocation)),
                     "Secret {}", named.name);
  if (!converted.changed) {
    invocation.out().text(fmt::format("Secret {} is of spec {} already; nothing to do\n", named.name,
                                      ignition::to_string(converted.from)));
    return kExitOk;
  }
  const std::string copy_name = named.found.secret + std::string(kCopySuffix);
  // What cannot be done is said before anything is.
  STRAKE_TRY(const std::vector<Repointing> moves,
             plan_repointing(cluster, chosen, named.found.ns, named.found.secret, copy_name));
  const kube::ObjectKey key{named.found.ns, named.found.secret};
  STRAKE_TRY_CONTEXT(const kube::Object original, api->get(kube::core::kSecret, key, call), "reading Secret {}",
                     named.name);
  STRAKE_CHECK_OK(
      ensure_copy(*api, stub::converted_copy(original, copy_name, named.found.key, converted.text), invocation, call));
  for (const Repointing& move : moves) STRAKE_CHECK_OK(repoint(*api, move, invocation, call));
  if (moves.empty()) {
    invocation.out().text(any_set_uses(cluster, named.found.ns, copy_name)
                              ? "every set that was named uses the copy already\n"
                              : "no machine set uses the stub; the copy is there for those to come\n");
  }
  return kExitOk;
}

Result<int> run_stub_convert(const Invocation& invocation) {
  const bool from_file = invocation.has("filename");
  if (from_file == !invocation.value("SECRET").empty()) {
    return error(Code::kInvalidArgument, "say which stub: SECRET in a cluster, or -f FILE");
  }
  if (!from_file) return convert_in_cluster(invocation);
  if (invocation.has("machineset") || invocation.is_set("undo") || invocation.is_set("dry-run")) {
    return error(Code::kInvalidArgument, "--machineset, --undo and --dry-run are about a cluster, not about a file");
  }
  return convert_file(invocation);
}

constexpr ExitMeaning kStubConvertExits[] = {
    {kExitOk, "converted, or of that spec already"},
    {kExitBlocked, "there is no such stub or set, it is the Cluster API's, or another Secret has the name of the copy"},
    kServerUnreachable};

}  // namespace

const CommandSpec kStubConvertCommand{
    "stub convert",
    "Make a stub of spec 2 one that images of the last years read.",
    "With the least change: the version, and append becomes merge. A config that has more than a pointer is converted "
    "as a whole; what spec 3 has no words for is refused by name. The result is checked: it points and trusts as the "
    "old one does.\n\n"
    "In a cluster a copy is made (SECRET-spec3) and only the chosen machine sets are pointed at it; the stub itself is "
    "never touched. Killed halfway, run it again. --undo points the sets back.\n\n"
    "  strake stub convert worker-user-data --machineset worker-a,worker-b\n"
    "  strake stub convert worker-user-data --undo\n"
    "  strake stub convert -f worker.ign > worker3.ign",
    kStubConvertArguments,
    kStubConvertOptions,
    run_stub_convert,
    kStubConvertExits};

}  // namespace strake::cmd
