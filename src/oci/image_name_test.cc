#include "oci/image_name.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::image_name_test {

TEST(ImageName, FormsOfSkopeo) {
  struct Case {
    const char* text;
    ImageName expected;
  };
  const Case cases[] = {
      {"busybox", {Transport::kRegistry, "docker.io/library/busybox", ""}},
      {"docker://quay.io/os:v1", {Transport::kRegistry, "quay.io/os:v1", ""}},
      {"oci:/tmp/x", {Transport::kLayout, "/tmp/x", ""}},
      {"oci:x:v1", {Transport::kLayout, "x", "v1"}},
      {"oci-archive:/tmp/x.tar:a:b", {Transport::kOciArchive, "/tmp/x.tar", "a:b"}},
      {"docker-archive:x.tar:quay.io/os:v1", {Transport::kDockerArchive, "x.tar", "quay.io/os:v1"}},
  };
  for (const Case& c : cases) {
    const auto name = parse_image_name(c.text);
    ASSERT_TRUE(name.ok()) << c.text << ": " << name.error().to_string();
    EXPECT_EQ(*name, c.expected) << c.text;
  }
  for (const char* text : {"", "oci:", "docker://", "/tmp/x", "./x", "docker-archive::v1"}) {
    EXPECT_FALSE(parse_image_name(text).ok()) << text;
  }
  EXPECT_NE(parse_image_name("/tmp/x").error().to_string().find("oci:/tmp/x"), std::string::npos);
}

TEST(ImageName, PathsAreLookedAt) {
  test::TempDir dir;
  testing::write_image(dir / "layout", "v1", {testing::make_layer({testing::tar_file("a", "1")})});
  const std::string layout = (dir / "layout").string();
  EXPECT_EQ(*find_image_name(layout), (ImageName{Transport::kLayout, layout, ""}));
  EXPECT_EQ(*find_image_name(layout + ":v1"), (ImageName{Transport::kLayout, layout, "v1"}));
  EXPECT_EQ(*find_image_name("quay.io/os:v1"), *parse_image_name("quay.io/os:v1"));
  EXPECT_EQ(*find_image_name("oci:" + layout), *parse_image_name("oci:" + layout));
  EXPECT_EQ(find_image_name(layout + "s:v1").error().code(), Code::kNotFound);
  ASSERT_TRUE(write_file_atomic(dir / "text", "no archive", 0644).ok());
  EXPECT_EQ(find_image_name((dir / "text").string()).error().code(), Code::kCorrupt);
  const std::string tar = testing::make_layer({testing::tar_file("a", "1")});
  ASSERT_TRUE(write_file_atomic(dir / "file", tar, 0644).ok());
  const auto neither = find_image_name((dir / "file").string());
  ASSERT_FALSE(neither.ok());
  EXPECT_NE(neither.error().to_string().find("neither an oci-archive"), std::string::npos)
      << neither.error().to_string();
}

TEST(ImageName, AForgottenDotIsNoRegistry) {
  test::TempDir dir;
  testing::write_image(dir / "layout", "v1", {testing::make_layer({testing::tar_file("a", "1")})});
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  for (const char* text : {"layout", "layout:v1"}) {
    const auto refused = find_image_name(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error().to_string().find(fmt::format("write ./{}", text)), std::string::npos)
        << refused.error().to_string();
    EXPECT_TRUE(find_image_name(fmt::format("./{}", text)).ok());
    EXPECT_TRUE(find_image_name(fmt::format("docker://{}", text)).ok());
  }
  std::filesystem::current_path(before);
  EXPECT_TRUE(names_its_registry("quay.io/os"));
  EXPECT_TRUE(names_its_registry("localhost/os"));
  EXPECT_FALSE(names_its_registry("os"));
  EXPECT_FALSE(names_its_registry("org/os:v1.2"));
}

TEST(ImageName, OpensWhatItNames) {
  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  Registries registries({}, {}, runtime);
  const Descriptor image =
      testing::write_image(dir / "layout", "v1", {testing::make_layer({testing::tar_file("a", "1")})});
  const auto name = parse_image_name("oci:" + (dir / "layout").string() + ":v1");
  const auto opened = open_image(*name, registries);
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_EQ(opened->source->resolve(opened->reference)->digest, image.digest);
  EXPECT_TRUE(open_image(*parse_image_name("quay.io/os"), registries).ok()) << "opening contacts nobody";
  EXPECT_EQ(open_image({Transport::kDockerArchive, dir / "none", ""}, registries).error().code(), Code::kNotFound);
}

}  // namespace strake::oci::image_name_test
