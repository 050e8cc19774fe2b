#include "sysroot/sysroot.h"

#include "base/fd.h"
#include "sysroot/glib_handles.h"

namespace strake::sysroot {

namespace {

Code code_of(const GError& error) {
  if (error.domain != G_IO_ERROR) return Code::kIo;
  switch (error.code) {
    case G_IO_ERROR_NOT_FOUND: return Code::kNotFound;
    case G_IO_ERROR_CANCELLED: return Code::kCancelled;
    case G_IO_ERROR_NO_SPACE: return Code::kExhausted;
    case G_IO_ERROR_PERMISSION_DENIED: return Code::kDenied;
    default: return Code::kIo;
  }
}

std::string id_of(OstreeDeployment* deployment) {
  return fmt::format("{}-{}.{}", ostree_deployment_get_osname(deployment), ostree_deployment_get_csum(deployment),
                     ostree_deployment_get_deployserial(deployment));
}

std::string command_line_of(OstreeDeployment* deployment) {
  OstreeBootconfigParser* config = ostree_deployment_get_bootconfig(deployment);
  const char* options = config == nullptr ? nullptr : ostree_bootconfig_parser_get(config, "options");
  return options == nullptr ? "" : options;
}

std::string origin_of(OstreeDeployment* deployment) {
  GKeyFile* origin = ostree_deployment_get_origin(deployment);
  if (origin == nullptr) return "";
  const TextHandle text(g_key_file_to_data(origin, nullptr, nullptr));
  return text ? text.get() : "";
}

Result<KeyFileHandle> read_origin(const std::string& text) {
  KeyFileHandle origin(g_key_file_new());
  if (text.empty()) return origin;
  GlibError failure;
  if (g_key_file_load_from_data(origin.get(), text.data(), text.size(), G_KEY_FILE_KEEP_COMMENTS, failure.out()) == 0)
    return failure.take("reading the origin of a deployment");
  return origin;
}

OstreeDeployment* at(const GPtrArray* list, guint index) {
  return static_cast<OstreeDeployment*>(g_ptr_array_index(list, index));
}

OstreeDeployment* find(const GPtrArray* list, const std::string& id) {
  for (guint i = 0; i < list->len; ++i) {
    if (id_of(at(list, i)) == id) return at(list, i);
  }
  return nullptr;
}

bool contains(const GPtrArray* list, const OstreeDeployment* wanted) {
  for (guint i = 0; i < list->len; ++i) {
    if (at(list, i) == wanted) return true;
  }
  return false;
}

void add(GPtrArray* list, OstreeDeployment* deployment) { g_ptr_array_add(list, g_object_ref(deployment)); }

}  // namespace

Error GlibError::take(const std::string& doing) {
  if (error_ == nullptr) return error(Code::kIo, "{} failed", doing);
  Error taken = error(code_of(*error_), "{}: {}", doing, error_->message);
  g_clear_error(&error_);
  return taken;
}

struct Sysroot::Impl {
  std::filesystem::path root;
  SysrootOptions options;
  ObjectHandle<OstreeSysroot> handle;

  Status load(GCancellable* cancellable);
  ArrayHandle list() const { return ArrayHandle(ostree_sysroot_get_deployments(handle.get())); }
  Result<ArrayHandle> in_order(const GPtrArray* present, const std::vector<std::string>& ids) const;
  Status write(GPtrArray* list, GCancellable* cancellable);
};

namespace {

ObjectHandle<OstreeSysroot> handle_of(const std::filesystem::path& root) {
  const ObjectHandle<GFile> file(g_file_new_for_path(root.c_str()));
  return ObjectHandle<OstreeSysroot>(ostree_sysroot_new(file.get()));
}

/// Held while something is changed: by whoever, also other programs.
class SysrootLock {
 public:
  explicit SysrootLock(OstreeSysroot* sysroot) : sysroot_(sysroot) {}
  SysrootLock(const SysrootLock&) = delete;
  SysrootLock& operator=(const SysrootLock&) = delete;
  ~SysrootLock() {
    if (held_) ostree_sysroot_unlock(sysroot_);
  }

  Status take(const std::filesystem::path& root) {
    GlibError failure;
    gboolean got = 0;
    if (ostree_sysroot_try_lock(sysroot_, &got, failure.out()) == 0)
      return failure.take(fmt::format("locking sysroot {}", root.string()));
    held_ = got != 0;
    if (held_) return {};
    return error(Code::kUnavailable, "another program is changing sysroot {}; try again when it is done",
                 root.string());
  }

 private:
  OstreeSysroot* sysroot_;
  bool held_ = false;
};

}  // namespace

Status Sysroot::Impl::load(GCancellable* cancellable) {
  GlibError failure;
  if (ostree_sysroot_load(handle.get(), cancellable, failure.out()) == 0)
    return failure.take(fmt::format("reading sysroot {}", root.string()));
  return {};
}

/// Those, then the pinned ones that are not among them.
Result<ArrayHandle> Sysroot::Impl::in_order(const GPtrArray* present, const std::vector<std::string>& ids) const {
  ArrayHandle wanted(g_ptr_array_new_with_free_func(g_object_unref));
  for (const std::string& id : ids) {
    OstreeDeployment* deployment = find(present, id);
    if (deployment == nullptr)
      return error(Code::kNotFound, "there is no deployment {} in sysroot {}", id, root.string());
    if (!contains(wanted.get(), deployment)) add(wanted.get(), deployment);
  }
  for (guint i = 0; i < present->len; ++i) {
    OstreeDeployment* deployment = at(present, i);
    if (ostree_deployment_is_pinned(deployment) != 0 && !contains(wanted.get(), deployment))
      add(wanted.get(), deployment);
  }
  return wanted;
}

Status Sysroot::Impl::write(GPtrArray* list, GCancellable* cancellable) {
  GlibError failure;
  OstreeSysrootWriteDeploymentsOpts opts{};
  opts.do_postclean = 0;  // objects are removed when asked for, and not while a machine waits for its update
  if (ostree_sysroot_write_deployments_with_options(handle.get(), list, &opts, cancellable, failure.out()) == 0)
    return failure.take(fmt::format("writing the boot loader's entries of sysroot {}", root.string()));
  return {};
}

Status Sysroot::create(const std::filesystem::path& root, const std::string& stateroot) {
  std::error_code failed;
  std::filesystem::create_directories(root / "boot", failed);
  if (failed) return errno_error(failed.value(), (root / "boot").string());
  const ObjectHandle<OstreeSysroot> sysroot = handle_of(root);
  GlibError failure;
  if (ostree_sysroot_ensure_initialized(sysroot.get(), nullptr, failure.out()) == 0 ||
      ostree_sysroot_load(sysroot.get(), nullptr, failure.out()) == 0) {
    return failure.take(fmt::format("making sysroot {}", root.string()));
  }
  if (std::filesystem::exists(root / "ostree/deploy" / stateroot, failed)) return {};
  if (ostree_sysroot_init_osname(sysroot.get(), stateroot.c_str(), nullptr, failure.out()) == 0)
    return failure.take(fmt::format("making stateroot {} in sysroot {}", stateroot, root.string()));
  return {};
}

Result<Sysroot> Sysroot::open(const std::filesystem::path& root, SysrootOptions options) {
  std::error_code failed;
  if (!std::filesystem::exists(root / "ostree/repo/config", failed))
    return error(Code::kNotFound, "{} is no sysroot: there is no ostree/repo in it", root.string());
  auto impl = std::make_unique<Impl>();
  impl->root = root;
  impl->options = options;
  impl->handle = handle_of(root);
  STRAKE_CHECK_OK(impl->load(nullptr));
  if (!options.durable) {
    OstreeRepo* repo = ostree_sysroot_repo(impl->handle.get());
    ostree_repo_set_disable_fsync(repo, 1);
  }
  return Sysroot(std::move(impl));
}

Sysroot::Sysroot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sysroot::Sysroot(Sysroot&&) noexcept = default;
Sysroot& Sysroot::operator=(Sysroot&&) noexcept = default;
Sysroot::~Sysroot() = default;

const std::filesystem::path& Sysroot::root() const { return impl_->root; }
std::filesystem::path Sysroot::repository() const { return impl_->root / "ostree/repo"; }

Result<std::vector<Deployment>> Sysroot::deployments() {
  STRAKE_CHECK_OK(impl_->load(nullptr));
  const ArrayHandle present = impl_->list();
  OstreeDeployment* booted = ostree_sysroot_get_booted_deployment(impl_->handle.get());
  std::vector<Deployment> found;
  found.reserve(present->len);
  for (guint i = 0; i < present->len; ++i) {
    OstreeDeployment* from = at(present.get(), i);
    const TextHandle path(ostree_sysroot_get_deployment_dirpath(impl_->handle.get(), from));
    found.push_back({.id = id_of(from),
                     .stateroot = ostree_deployment_get_osname(from),
                     .commit = ostree_deployment_get_csum(from),
                     .serial = ostree_deployment_get_deployserial(from),
                     .booted = from == booted,
                     .staged = ostree_deployment_is_staged(from) != 0,
                     .pinned = ostree_deployment_is_pinned(from) != 0,
                     .command_line = command_line_of(from),
                     .origin = origin_of(from),
                     .root = impl_->root / path.get()});
  }
  return found;
}

Result<std::string> Sysroot::deploy(const NewDeployment& wanted, const runtime::Call& call) {
  const Cancellable cancellable(call.stop);
  SysrootLock lock(impl_->handle.get());
  STRAKE_CHECK_OK(lock.take(impl_->root));
  STRAKE_CHECK_OK(impl_->load(cancellable.get()));
  const ArrayHandle present = impl_->list();
  STRAKE_TRY(const ArrayHandle kept, impl_->in_order(present.get(), wanted.keep));
  OstreeDeployment* merge = wanted.merge_from ? find(present.get(), *wanted.merge_from) : nullptr;
  if (wanted.merge_from && merge == nullptr) {
    return error(Code::kNotFound, "there is no deployment {} in sysroot {} to go on from", *wanted.merge_from,
                 impl_->root.string());
  }
  STRAKE_TRY(const KeyFileHandle origin, read_origin(wanted.origin));
  std::vector<char*> arguments;
  arguments.reserve(wanted.kernel_arguments.size() + 1);
  for (const std::string& argument : wanted.kernel_arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  OstreeSysrootDeployTreeOpts opts{};
  opts.override_kernel_argv = arguments.data();
  OstreeDeployment* made = nullptr;
  GlibError failure;
  const gboolean deployed =
      ostree_sysroot_deploy_tree_with_options(impl_->handle.get(), wanted.stateroot.c_str(), wanted.commit.c_str(),
                                              origin.get(), merge, &opts, &made, cancellable.get(), failure.out());
  const ObjectHandle<OstreeDeployment> owned(made);
  Status written = deployed == 0 ? Status(failure.take(fmt::format("deploying commit {}", wanted.commit))) : Status();
  if (written.ok()) {
    const ArrayHandle list(g_ptr_array_new_with_free_func(g_object_unref));
    add(list.get(), made);
    for (guint i = 0; i < kept->len; ++i) add(list.get(), at(kept.get(), i));
    written = impl_->write(list.get(), cancellable.get());
  }
  if (written.ok()) return id_of(made);
  // A tree that was checked out and is in no list would stay for ever.
  GlibError ignored;
  (void)ostree_sysroot_prepare_cleanup(impl_->handle.get(), nullptr, ignored.out());
  return written.error();
}

Status Sysroot::set_order(const std::vector<std::string>& ids, const runtime::Call& call) {
  const Cancellable cancellable(call.stop);
  SysrootLock lock(impl_->handle.get());
  STRAKE_CHECK_OK(lock.take(impl_->root));
  STRAKE_CHECK_OK(impl_->load(cancellable.get()));
  const ArrayHandle present = impl_->list();
  STRAKE_TRY(const ArrayHandle wanted, impl_->in_order(present.get(), ids));
  return impl_->write(wanted.get(), cancellable.get());
}

Status Sysroot::set_pinned(const std::string& id, bool pinned, const runtime::Call& call) {
  const Cancellable cancellable(call.stop);
  SysrootLock lock(impl_->handle.get());
  STRAKE_CHECK_OK(lock.take(impl_->root));
  STRAKE_CHECK_OK(impl_->load(cancellable.get()));
  const ArrayHandle present = impl_->list();
  OstreeDeployment* deployment = find(present.get(), id);
  if (deployment == nullptr)
    return error(Code::kNotFound, "there is no deployment {} in sysroot {}", id, impl_->root.string());
  GlibError failure;
  if (ostree_sysroot_deployment_set_pinned(impl_->handle.get(), deployment, pinned ? 1 : 0, failure.out()) == 0)
    return failure.take(fmt::format("{} deployment {}", pinned ? "pinning" : "unpinning", id));
  return {};
}

Status Sysroot::clean(const runtime::Call& call) {
  const Cancellable cancellable(call.stop);
  SysrootLock lock(impl_->handle.get());
  STRAKE_CHECK_OK(lock.take(impl_->root));
  STRAKE_CHECK_OK(impl_->load(cancellable.get()));
  GlibError failure;
  // Not ostree_sysroot_cleanup: it does the same and prints to our standard output.
  gint total = 0, pruned = 0;
  guint64 freed = 0;
  if (ostree_sysroot_prepare_cleanup(impl_->handle.get(), cancellable.get(), failure.out()) == 0 ||
      ostree_repo_prune(ostree_sysroot_repo(impl_->handle.get()), OSTREE_REPO_PRUNE_FLAGS_REFS_ONLY, 0, &total, &pruned,
                        &freed, cancellable.get(), failure.out()) == 0) {
    return failure.take(fmt::format("removing what no deployment of sysroot {} needs", impl_->root.string()));
  }
  return {};
}

}  // namespace strake::sysroot
