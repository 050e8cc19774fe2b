#include "integration/os_image_fixture.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace strake::test {

void expect_same_lines(const Lines& ours, const Lines& theirs) {
  if (ours == theirs) return;
  Lines our_sorted = ours, their_sorted = theirs, only_ours, only_theirs;
  std::ranges::sort(our_sorted);
  std::ranges::sort(their_sorted);
  std::ranges::set_difference(our_sorted, their_sorted, std::back_inserter(only_ours));
  std::ranges::set_difference(their_sorted, our_sorted, std::back_inserter(only_theirs));
  ADD_FAILURE() << fmt::format("{} lines of ours and {} of theirs differ{}\nonly ours:\n{}\nonly theirs:\n{}",
                               ours.size(), theirs.size(),
                               only_ours.empty() && only_theirs.empty() ? ", but in their order only" : "",
                               fmt::join(only_ours, "\n"), fmt::join(only_theirs, "\n"));
}

void OsImageFixture::SetUp() {
  const auto images = shared_os_images();
  ASSERT_TRUE(images.ok()) << images.error().to_string();
  images_ = *images;
}

ProcessOutput OsImageFixture::os(Lines arguments) const {
  arguments.insert(arguments.begin(), "os");
  if (std::ranges::find(arguments, "--no-cache") == arguments.end()) {
    arguments.insert(arguments.end(), {"--cache", (work_ / "cache").string()});
  }
  return run_strake(std::move(arguments));
}

std::string OsImageFixture::os_checked(Lines arguments) const {
  ProcessOutput output = os(std::move(arguments));
  EXPECT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  return std::move(output.stdout_bytes);
}

std::string OsImageFixture::judged(Lines argv) const {
  auto output = images_->run_as_builder("exec \"$@\"", std::move(argv));
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? *std::move(output) : "";
}

std::string OsImageFixture::layout(const std::string& name) const {
  return fmt::format("oci:{}:v1", images_->layout(name).string());
}

LayoutEditor OsImageFixture::editable(const std::string& name) const {
  static int copies = 0;
  auto editor = LayoutEditor::copy(images_->layout(name), work_ / fmt::format("{}-{}", name, ++copies));
  EXPECT_TRUE(editor.ok()) << (editor.ok() ? "" : editor.error().to_string());
  return editor.ok() ? *std::move(editor) : LayoutEditor();
}

std::string OsImageFixture::name_of(const LayoutEditor& editor) {
  return fmt::format("oci:{}:v1", editor.directory().string());
}

Lines OsImageFixture::forms_of_the_commit() const {
  return {"ostree:" + images_->bare_user_repository().string(),
          fmt::format("ostree:{}:{}", images_->archive_repository().string(), kOsBranch),
          fmt::format("ostree:{}:{}", images_->archive_repository().string(), images_->commit()),
          layout("single"),
          layout("chunked"),
          layout("machine-os")};
}

Lines OsImageFixture::all_forms() const {
  Lines forms = forms_of_the_commit();
  forms.insert(forms.end(), {layout("derived"), layout("plain")});
  return forms;
}

}  // namespace strake::test
