// ImageSource: where images come from. A registry, a layout on disk and an archive look the same from here on.
//
// Nothing read from a source is believed before its size and digest were checked against the descriptor that names it.
// The chain starts at what find_entries() answers; whether that is trusted (a signature, a digest given by the user) is
// the caller's matter.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "codec/stream.h"
#include "oci/manifest.h"

namespace strake::oci {

/// A blob being read. Hashes what passes; the read that meets the end answers kCorrupt instead of 0 when size or digest
/// differ. So content may be used only once the source has ended well.
class BlobSource final : public codec::Source {
 public:
  /// `name` appears in errors.
  BlobSource(std::unique_ptr<codec::Source> content, std::string name, Descriptor expected);
  Result<std::size_t> read(std::span<std::byte> into) override;
  /// Reads what is left and checks it.
  Status finish();
  /// Called once, and every one of them, when the content turns out to be something else.
  void on_corrupt(std::function<void()> callback) { on_corrupt_.push_back(std::move(callback)); }

 private:
  Error refuse(Error why);

  std::unique_ptr<codec::Source> content_;
  std::string name_;
  Descriptor expected_;
  codec::Hasher hasher_;
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;
  std::optional<Error> refused_;
  std::vector<std::function<void()>> on_corrupt_;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  /// For messages: "image layout /var/tmp/release".
  virtual std::string description() const = 0;

  /// Whether blobs come over a network, so that one that was read is worth keeping.
  virtual bool is_remote() const { return false; }

  /// Every entry a name may mean: a tag, a ref.name or a digest; "" stands for all of a layout or archive, and for the
  /// reference a registry source was opened with. At least one, or kNotFound.
  virtual Result<std::vector<Descriptor>> find_entries(std::string_view reference,
                                                       const runtime::Call& call = {}) const = 0;

  /// Manifests and indexes are blobs too.
  virtual Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor,
                                                        const runtime::Call& call = {}) const = 0;

  /// The bytes of a blob from `offset` on, without a check: for who keeps the first part and checks the whole. A source
  /// that can begin in the middle does so.
  using OnData = std::function<Status(std::string_view)>;
  virtual Status stream_blob(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                             const runtime::Call& call = {}) const;

  /// What lies beside an image of this source under a tag of its own, such as its signatures; nullopt when no place
  /// that may be asked has it. Asked first is the place the image came from, whatever the rules of its mirror say about
  /// tags. An error says that nobody could be asked, or that what was found is bad.
  virtual Result<std::optional<Descriptor>> find_companion(std::string_view tag, const runtime::Call& call = {}) const;

  /// What was attached to an image by referring to it: manifests whose subject it is, each with its artifact type. At
  /// most kMaxIndexEntries; none is an empty list. Whoever may write to the repository may attach: it proves nothing.
  /// This one reads the index under referrers_tag(), which stands in for the interface registries have for it.
  virtual Result<std::vector<Descriptor>> find_referrers(const codec::Digest& digest,
                                                         const runtime::Call& call = {}) const;

  /// The only entry of that name.
  Result<Descriptor> find_entry(std::string_view reference, const runtime::Call& call = {}) const;
  /// The same, followed through indexes to the image manifest for a platform.
  Result<Descriptor> resolve(std::string_view reference, const Platform& platform = {},
                             const runtime::Call& call = {}) const;

  Result<Manifest> read_manifest(const Descriptor& descriptor, const runtime::Call& call = {}) const;
  Result<ImageConfig> read_config(const Manifest& manifest, const runtime::Call& call = {}) const;
  /// A whole blob, checked; kExhausted above `max_bytes`.
  Result<std::string> read_blob(const Descriptor& descriptor, std::size_t max_bytes,
                                const runtime::Call& call = {}) const;
  /// Reads the blob to its end and only says whether it is what it should be.
  Status verify_blob(const Descriptor& descriptor, const runtime::Call& call = {}) const;

  /// For who reads a blob through open_blob() or stream_blob() and can begin anew: runs `attempt` again, at the next
  /// place that may have the blob, as long as what it read was wrong.
  Status read_anywhere(const Descriptor& descriptor, const std::function<Status()>& attempt) const;

 protected:
  friend class CachedSource;
  /// The content of this blob was wrong. Success means that it may be asked for again, and then comes from elsewhere;
  /// else the error to report, which names every place and what was wrong there.
  virtual Status reject_content(const Descriptor&, Error why) const { return why; }
};

/// Whether a failure only says that one place does not have something, or cannot or may not be asked: another may.
bool may_be_elsewhere(const Error& error);

/// "sha256-HEX": where the referrers of an image are listed in a registry, or a layout, that has no interface for them.
std::string referrers_tag(const codec::Digest& digest);

/// A source that owns the text it reads.
std::unique_ptr<codec::Source> make_text_source(std::string text);

/// "v1, v2, sha256:..." for messages; "nothing" when there is none.
std::string entry_names(const std::vector<Descriptor>& entries);

}  // namespace strake::oci
