#include "codec/json_patch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace strake::json::json_patch_test {

Value from_text(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().to_string());
  return value.ok() ? *std::move(value) : Value();
}

struct PatchCase {
  const char* name;
  const char* document;
  const char* patch;
  const char* result;  ///< JSON, or "error: " and a part of the message
};

void expect_patch(const PatchCase& c) {
  const auto result = apply_json_patch(from_text(c.document), from_text(c.patch));
  const std::string_view expected = c.result;
  if (expected.starts_with("error: ")) {
    ASSERT_FALSE(result.ok()) << c.name << ": got " << write(*result);
    EXPECT_NE(result.error().to_string().find(expected.substr(7)), std::string::npos)
        << c.name << ": " << result.error().to_string();
    return;
  }
  ASSERT_TRUE(result.ok()) << c.name << ": " << result.error().to_string();
  EXPECT_TRUE(same_value(*result, from_text(expected))) << c.name << ": " << write(*result);
}

TEST(JsonPatch, Rfc6902AppendixA) {
  const PatchCase cases[] = {
      {"A.1 adding an object member", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])",
       R"({"baz":"qux","foo":"bar"})"},
      {"A.2 adding an array element", R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
       R"({"foo":["bar","qux","baz"]})"},
      {"A.3 removing an object member", R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])",
       R"({"foo":"bar"})"},
      {"A.4 removing an array element", R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])",
       R"({"foo":["bar","baz"]})"},
      {"A.5 replacing a value", R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])",
       R"({"baz":"boo","foo":"bar"})"},
      {"A.6 moving a value", R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
       R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
       R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
      {"A.7 moving an array element", R"({"foo":["all","grass","cows","eat"]})",
       R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])", R"({"foo":["all","cows","eat","grass"]})"},
      {"A.8 testing a value: success", R"({"baz":"qux","foo":["a",2,"c"]})",
       R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])",
       R"({"baz":"qux","foo":["a",2,"c"]})"},
      {"A.9 testing a value: error", R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])",
       "error: operation 0 (test \"/baz\"): the value is not the expected one"},
      {"A.10 adding a nested member object", R"({"foo":"bar"})",
       R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])", R"({"foo":"bar","child":{"grandchild":{}}})"},
      {"A.11 ignoring unrecognized elements", R"({"foo":"bar"})",
       R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])", R"({"foo":"bar","baz":"qux"})"},
      {"A.12 adding to a nonexistent target", R"({"foo":"bar"})", R"([{"op":"add","path":"/baz/bat","value":"qux"}])",
       "error: there is no member \"baz\""},
      // A.13 is a patch document with a duplicate member; our parser refuses it before it gets here.
      {"A.14 ~ escape ordering", R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])",
       R"({"/":9,"~1":10})"},
      {"A.15 comparing strings and numbers", R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":"10"}])",
       "error: not the expected one"},
      {"A.16 adding an array value", R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])",
       R"({"foo":["bar",["abc","def"]]})"},
  };
  for (const PatchCase& c : cases) expect_patch(c);
  EXPECT_FALSE(parse(R"([{"op":"add","path":"/baz","value":"qux","op":"remove"}])").ok()) << "A.13";
}

TEST(JsonPatch, PointersAndIndices) {
  const PatchCase cases[] = {
      {"whole document", R"({"a":1})", R"([{"op":"replace","path":"","value":[1]},{"op":"add","path":"/-","value":2}])",
       "[1,2]"},
      {"empty key", R"({"":1})", R"([{"op":"replace","path":"/","value":2}])", R"({"":2})"},
      {"escapes", R"({"a/b":1,"m~n":2})", R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"}])", "{}"},
      {"append by length", "[1]", R"([{"op":"add","path":"/1","value":2}])", "[1,2]"},
      {"a digit is a member name in an object", R"({"0":1})", R"([{"op":"remove","path":"/0"}])", "{}"},
      {"beyond the end", "[1]", R"([{"op":"add","path":"/2","value":2}])", "error: array index 2 is out of range"},
      {"leading zero", "[1,2]", R"([{"op":"remove","path":"/01"}])", "error: \"01\" is not an array index"},
      {"negative", "[1]", R"([{"op":"remove","path":"/-1"}])", "error: not an array index"},
      {"plus", "[1]", R"([{"op":"remove","path":"/+0"}])", "error: not an array index"},
      {"huge", "[1]", R"([{"op":"remove","path":"/99999999999999999999999"}])", "error: out of range"},
      {"empty array", "[]", R"([{"op":"remove","path":"/0"}])", "error: the array is empty"},
      {"- names no element", "[1]", R"([{"op":"remove","path":"/-"}])", "error: not an array index"},
      {"- cannot be tested", "[1]", R"([{"op":"test","path":"/-","value":1}])", "error: not an array index"},
      {"no leading slash", "{}", R"([{"op":"add","path":"a","value":1}])", "error: must be empty or start with '/'"},
      {"bad escape", "{}", R"([{"op":"add","path":"/a~2","value":1}])", "error: neither ~0 nor ~1"},
      {"tilde at the end", "{}", R"([{"op":"add","path":"/a~","value":1}])", "error: neither ~0 nor ~1"},
      {"into a string", R"({"a":"x"})", R"([{"op":"add","path":"/a/b","value":1}])", "error: type string"},
      {"through a number", R"({"a":1})", R"([{"op":"add","path":"/a/b/c","value":1}])", "error: type integer"},
  };
  for (const PatchCase& c : cases) expect_patch(c);
}

TEST(JsonPatch, Operations) {
  const PatchCase cases[] = {
      {"add replaces a member in place", R"({"a":1,"b":2})", R"([{"op":"add","path":"/a","value":null}])",
       R"({"a":null,"b":2})"},
      {"replace needs a target", "{}", R"([{"op":"replace","path":"/a","value":1}])", "error: no member \"a\""},
      {"remove needs a target", "{}", R"([{"op":"remove","path":"/a"}])", "error: no member \"a\""},
      {"remove of everything", "{}", R"([{"op":"remove","path":""}])", "error: cannot be removed"},
      {"move onto itself", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])", R"({"a":1})"},
      {"move into itself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", "error: into itself"},
      {"move needs a source", "{}", R"([{"op":"move","from":"/x","path":"/x"}])", "error: no member \"x\""},
      {"move to a sibling with the same prefix", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/ab"}])",
       R"({"ab":1})"},
      {"move up", R"({"a":{"b":[1]}})", R"([{"op":"move","from":"/a/b","path":"/a"}])", R"({"a":[1]})"},
      {"copy into itself", R"({"a":{}})", R"([{"op":"copy","from":"/a","path":"/a/b"}])", R"({"a":{"b":{}}})"},
      {"copy", R"({"a":[1]})", R"([{"op":"copy","from":"/a/0","path":"/a/0"}])", R"({"a":[1,1]})"},
      {"test of numbers by value", R"({"a":1,"b":1.0,"c":1e2})",
       R"([{"op":"test","path":"/a","value":1.0},{"op":"test","path":"/b","value":1},{"op":"test","path":"/c","value":100}])",
       R"({"a":1,"b":1,"c":100})"},
      {"test is exact", "9007199254740993", R"([{"op":"test","path":"","value":9007199254740992.0}])",
       "error: expected"},
      {"test ignores member order", R"({"a":{"x":1,"y":[2]}})",
       R"([{"op":"test","path":"/a","value":{"y":[2.0],"x":1}}])", R"({"a":{"x":1,"y":[2]}})"},
      {"test of null", R"({"a":null})", R"([{"op":"test","path":"/a","value":null}])", R"({"a":null})"},
      {"test of what is absent", "{}", R"([{"op":"test","path":"/a","value":null}])", "error: no member \"a\""},
      {"value is missing", "{}", R"([{"op":"add","path":"/a"}])", "error: \"value\" is missing"},
      {"from is missing", "{}", R"([{"op":"copy","path":"/a"}])", "error: \"from\" is missing"},
      {"path is missing", "{}", R"([{"op":"remove"}])",
       "error: operation 0 (remove \"?\"): the member \"path\" is missing"},
      {"path is no string", "{}", R"([{"op":"remove","path":1}])", "error: must be a string"},
      {"unknown operation", "{}", R"([{"op":"spam","path":"/a"}])", "error: unknown operation \"spam\""},
      {"not an object", "{}", R"([{"op":"add","path":"/a","value":1},3])", "error: operation 1 must be an object"},
      {"not an array", "{}", R"({"op":"add"})", "error: a JSON patch is an array"},
      {"the second fails", R"({"a":1})", R"([{"op":"remove","path":"/a"},{"op":"test","path":"/b","value":1}])",
       "error: operation 1 (test \"/b\")"},
      {"empty patch", R"({"a":1})", "[]", R"({"a":1})"},
  };
  for (const PatchCase& c : cases) expect_patch(c);
}

TEST(JsonPatch, OrderOfMembersIsKept) {
  const auto result = apply_json_patch(
      from_text(R"({"a":1,"b":2,"c":3,"d":4})"),
      from_text(
          R"([{"op":"remove","path":"/b"},{"op":"replace","path":"/a","value":9},{"op":"add","path":"/e","value":5}])"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(write(*result), R"({"a":9,"c":3,"d":4,"e":5})");
}

TEST(JsonPatch, Limits) {
  Array many;
  for (std::size_t i = 0; i < kMaxPatchOperations; ++i) {
    many.push_back(from_text(R"({"op":"test","path":"","value":1})"));
  }
  EXPECT_TRUE(apply_json_patch(Value(1), many).ok());
  many.push_back(many.front());
  auto result = apply_json_patch(Value(1), many);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExhausted);

  // Each copy doubles the document.
  Array doubling;
  for (int i = 0; i < 64; ++i) doubling.push_back(from_text(R"({"op":"copy","from":"/a","path":"/a/-"})"));
  result = apply_json_patch(from_text(R"({"a":["0123456789"]})"), doubling);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExhausted);

  // Each move nests it one level deeper.
  Array nesting;
  for (int i = 0; i < 200; ++i) {
    nesting.push_back(from_text(R"({"op":"move","from":"/a","path":"/b"})"));
    nesting.push_back(from_text(R"({"op":"add","path":"/a","value":{}})"));
    nesting.push_back(from_text(R"({"op":"move","from":"/b","path":"/a/x"})"));
  }
  result = apply_json_patch(from_text(R"({"a":1})"), nesting);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExhausted);
}

/// Small as texts, endless as work: each operation shifts or walks a large part of the document.
TEST(JsonPatch, WorkIsBounded) {
  Array numbers;
  for (int i = 0; i < 100'000; ++i) numbers.emplace_back(i);
  Object members;
  for (int i = 0; i < 100'000; ++i) members.emplace(std::to_string(i), 1);
  const Value document = Object{{"list", numbers}, {"object", members}};
  const char* const hostile[] = {R"({"op":"add","path":"/list/0","value":1})", R"({"op":"remove","path":"/list/0"})",
                                 R"({"op":"move","from":"/list/0","path":"/list/-"})"};
  for (const char* operation : hostile) {
    Array patch;
    for (std::size_t i = 0; i < kMaxPatchOperations; ++i) patch.push_back(from_text(operation));
    const auto result = apply_json_patch(document, patch);
    ASSERT_FALSE(result.ok()) << operation;
    EXPECT_EQ(result.error().code(), Code::kExhausted) << operation;
  }
  Array from_objects, to_and_fro;
  for (std::size_t i = 0; i < kMaxPatchOperations; ++i) {
    from_objects.push_back(Object{{"op", "remove"}, {"path", fmt::format("/object/{}", i)}});
    to_and_fro.push_back(from_text(i % 2 == 0 ? R"({"op":"move","from":"/list","path":"/other"})"
                                              : R"({"op":"move","from":"/other","path":"/list"})"));
  }
  for (const Array& patch : {from_objects, to_and_fro}) {
    const auto result = apply_json_patch(document, patch);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), Code::kExhausted);
  }
  Array ordinary;
  for (std::size_t i = 0; i < 20; ++i) ordinary.push_back(from_text(hostile[0]));
  for (std::size_t i = 0; i < 9'000; ++i) ordinary.push_back(from_text(R"({"op":"add","path":"/list/-","value":1})"));
  EXPECT_TRUE(apply_json_patch(document, ordinary).ok()) << "large patches of the usual kind pass";
}

TEST(MergePatch, ManyDeletionsAreOnePass) {
  Object before, patch;
  for (int i = 0; i < 100'000; ++i) before.emplace(std::to_string(i), 1);
  for (int i = 0; i < 100'000; ++i) patch.emplace(std::to_string(i), i == 7 ? Value(2) : Value(nullptr));
  EXPECT_EQ(write(apply_merge_patch(before, patch)), R"({"7":2})");
}

TEST(JsonPatch, FailedTestIsAConflict) {
  const auto result = apply_json_patch(Value(1), from_text(R"([{"op":"test","path":"","value":2}])"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kConflict);
}

TEST(MergePatch, Rfc7386AppendixA) {
  struct Case {
    const char* original;
    const char* patch;
    const char* result;
  };
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(write(apply_merge_patch(from_text(c.original), from_text(c.patch))), c.result)
        << c.original << " with " << c.patch;
  }
  // The example of section 3.
  EXPECT_EQ(
      write(apply_merge_patch(
          from_text(
              R"({"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"})"),
          from_text(
              R"({"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]})"))),
      R"({"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"})");
}

TEST(MergePatch, CreateIsMinimal) {
  struct Case {
    const char* from;
    const char* to;
    const char* patch;
  };
  const Case cases[] = {
      {R"({"a":1,"b":{"c":2,"d":3}})", R"({"a":1,"b":{"c":2,"d":3}})", "{}"},
      {R"({"a":1})", R"({"a":1.0})", "{}"},
      {R"({"a":1,"b":{"c":2,"d":3}})", R"({"a":1,"b":{"c":4}})", R"({"b":{"d":null,"c":4}})"},
      {R"({"a":[1,2]})", R"({"a":[1,2,3]})", R"({"a":[1,2,3]})"},
      {R"({"a":{"b":1}})", R"({"a":{}})", R"({"a":{"b":null}})"},
      {R"({"a":1})", R"({"a":{}})", R"({"a":{}})"},
      {R"({"a":{}})", R"({"a":{}})", "{}"},
      {"[1]", R"({"a":1})", R"({"a":1})"},
      {R"({"a":1})", "[1]", "[1]"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(write(create_merge_patch(from_text(c.from), from_text(c.to))), c.patch) << c.from << " to " << c.to;
  }
}

/// Few names and small values, so that two random documents have much in common.
rc::Gen<Value> random_value(int depth) {
  const auto scalar =
      rc::gen::oneOf(rc::gen::map(rc::gen::inRange<std::int64_t>(-2, 3), [](std::int64_t n) { return Value(n); }),
                     rc::gen::map(rc::gen::inRange(0, 3), [](int n) { return Value(n / 2.0); }),
                     rc::gen::element(Value(true), Value("x"), Value("")));
  if (depth == 0) return scalar;
  const auto key = rc::gen::element<std::string>("a", "b", "c", "~/", "");
  const auto object = rc::gen::map(
      rc::gen::container<std::vector<std::pair<std::string, Value>>>(rc::gen::pair(key, random_value(depth - 1))),
      [](const std::vector<std::pair<std::string, Value>>& members) {
        Object made;
        for (const auto& [name, value] : members) made.insert_or_assign(name, value);
        return Value(std::move(made));
      });
  const auto array =
      rc::gen::map(rc::gen::container<std::vector<Value>>(random_value(depth - 1)),
                   [](const std::vector<Value>& elements) { return Value(Array(elements.begin(), elements.end())); });
  return rc::gen::weightedOneOf<Value>({{2, scalar}, {4, object}, {1, array}});
}

TEST(MergePatchProperty, CreatedPatchLeadsThere) {
  EXPECT_TRUE(rc::check("apply(create(a, b), a) == b", [] {
    const Value from = *rc::gen::resize(6, random_value(3));
    const Value to = *rc::gen::resize(6, random_value(3));
    const Value patch = create_merge_patch(from, to);
    RC_ASSERT(same_value(apply_merge_patch(from, patch), to));
    RC_ASSERT(!from.is_object() || write(create_merge_patch(from, from)) == "{}");
    // Merging is idempotent.
    RC_ASSERT(same_value(apply_merge_patch(to, patch), to) || !to.is_object());
  }));
}

TEST(JsonPatchProperty, SamePointerAddsFindsAndRemoves) {
  EXPECT_TRUE(rc::check("add, test and remove of a new member leave no trace", [] {
    Value document =
        *rc::gen::suchThat(rc::gen::resize(6, random_value(2)), [](const Value& v) { return v.is_object(); });
    const Value added = *rc::gen::resize(6, random_value(2));
    Object step{{"path", "/new~0name~1"}, {"value", added}};
    Array patch;
    for (const char* op : {"add", "test", "remove"}) {
      step["op"] = op;
      patch.push_back(step);
    }
    const auto result = apply_json_patch(document, patch);
    RC_ASSERT(result.ok());
    RC_ASSERT(write(*result) == write(document));
  }));
}

}  // namespace strake::json::json_patch_test
