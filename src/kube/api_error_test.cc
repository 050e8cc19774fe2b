#include "kube/api_error.h"

#include <gtest/gtest.h>

namespace strake::kube::api_error_test {

json::Value status(std::string_view text) {
  Result<json::Value> parsed = json::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : json::Value();
}

TEST(ErrorFromStatus, TellsFailuresApart) {
  struct Case {
    const char* name;
    int http_code;
    const char* body;
    Code code;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {"exists", 409, R"({"kind":"Status","reason":"AlreadyExists","message":"pods \"a\" already exists"})",
       Code::kExists, "AlreadyExists", "pods \"a\" already exists"},
      {"conflict", 409, R"({"kind":"Status","reason":"Conflict","message":"changed"})", Code::kConflict, "Conflict",
       "changed"},
      {"conflict without a word", 409, R"({"kind":"Status","message":"changed"})", Code::kConflict, "", "changed"},
      {"expired watch event", 0, R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})",
       Code::kExpired, "Expired", "too old"},
      {"gone", 410, R"({"kind":"Status","reason":"Gone","message":"m"})", Code::kExpired, "Gone", "m"},
      {"reason that contradicts the number", 503, R"({"kind":"Status","reason":"NotFound","message":"m"})",
       Code::kUnavailable, "NotFound", "m"},
      {"a proxy's page", 502, R"("<html>\n  <b>Bad   Gateway</b>\n</html>")", Code::kUnavailable, "",
       "the server answered HTTP 502: <html> <b>Bad Gateway</b> </html>"},
      {"nothing", 401, "null", Code::kUnauthenticated, "", "the server answered HTTP 401 without saying why"},
      {"not a Status", 404, R"({"message":"not ours"})", Code::kNotFound, "",
       "the server answered HTTP 404 without saying why"},
      {"server timeout", 500, R"({"kind":"Status","reason":"ServerTimeout","message":"m"})", Code::kUnavailable,
       "ServerTimeout", "m"},
      {"timeout", 504, R"({"kind":"Status","reason":"Timeout","message":"m"})", Code::kTimeout, "Timeout", "m"},
      {"too large", 413, R"({"kind":"Status","reason":"RequestEntityTooLarge","message":"m"})", Code::kExhausted,
       "RequestEntityTooLarge", "m"},
      {"media type", 415, R"({"kind":"Status","reason":"UnsupportedMediaType","message":"m"})", Code::kUnsupported,
       "UnsupportedMediaType", "m"},
      {"unprocessable", 422, R"({"kind":"Status","reason":"Invalid","message":"m"})", Code::kInvalidArgument, "Invalid",
       "m"},
      {"odd client error", 418, "null", Code::kInvalidArgument, "", "the server answered HTTP 418 without saying why"},
      {"redirect", 302, "null", Code::kInternal, "", "the server answered HTTP 302 without saying why"},
  };
  for (const Case& c : cases) {
    const Error error = error_from_status(c.http_code, status(c.body));
    EXPECT_EQ(error.code(), c.code) << c.name;
    EXPECT_EQ(error.reason(), c.reason) << c.name;
    EXPECT_EQ(error.message(), c.message) << c.name;
  }
}

TEST(ErrorFromStatus, TakesRetryAfterAndCauses) {
  const Error error =
      error_from_status(429, status(R"({"kind":"Status","reason":"TooManyRequests","message":"cannot evict",
    "details":{"retryAfterSeconds":10,"causes":[{"reason":"DisruptionBudget","message":"needs 2 healthy pods","field":"x"},
                                                {"message":"cannot evict"}]}})"));
  EXPECT_EQ(error.code(), Code::kExhausted);
  EXPECT_EQ(error.retry_after(), std::chrono::seconds(10));
  EXPECT_EQ(error.message(), "cannot evict (x: needs 2 healthy pods)");
}

TEST(ErrorFromStatus, KeepsMessagesSmall) {
  json::Object body{{"kind", "Status"}, {"message", std::string(1u << 20, 'x')}};
  EXPECT_LT(error_from_status(500, body).message().size(), 20u << 10);
}

TEST(StatusFromError, SurvivesTheTripToAClient) {
  const Error errors[] = {
      error(Code::kInvalidArgument, "m"),
      error(Code::kInvalidArgument, "m").with_reason("Invalid"),
      error(Code::kNotFound, "m"),
      error(Code::kExists, "m"),
      error(Code::kConflict, "m"),
      error(Code::kExpired, "m"),
      error(Code::kUnauthenticated, "m"),
      error(Code::kDenied, "m"),
      error(Code::kUnavailable, "m"),
      error(Code::kTimeout, "m"),
      error(Code::kUnsupported, "m"),
      error(Code::kUnsupported, "m").with_reason("UnsupportedMediaType"),
      error(Code::kExhausted, "m").with_retry_after(std::chrono::milliseconds(1500)),
      error(Code::kExhausted, "m").with_reason("RequestEntityTooLarge"),
  };
  for (const Error& sent : errors) {
    const ApiStatus answer = status_from_error(sent);
    const Error received = error_from_status(answer.http_code, answer.body);
    EXPECT_EQ(received.code(), sent.code()) << json::write(answer.body);
    EXPECT_EQ(received.message(), "m");
    EXPECT_TRUE(sent.reason().empty() || received.reason() == sent.reason()) << received.reason();
    EXPECT_EQ(received.retry_after().has_value(), sent.retry_after().has_value());
  }
}

TEST(StatusFromError, WritesTheWholeStatus) {
  const ApiStatus answer =
      status_from_error(error(Code::kInvalidArgument, "bad name")
                            .with_reason("Invalid")
                            .context("creating")
                            .with_retry_after(std::chrono::milliseconds(1)),
                        {"a", "apps", "deployments", "", {{"FieldValueInvalid", "bad name", "metadata.name"}}});
  EXPECT_EQ(answer.http_code, 422);
  EXPECT_EQ(
      json::write(answer.body),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"creating: bad name",)"
      R"("reason":"Invalid","details":{"name":"a","group":"apps","kind":"deployments","causes":[{"message":"bad name",)"
      R"("reason":"FieldValueInvalid","field":"metadata.name"}],"retryAfterSeconds":1},"code":422})");
}

TEST(StatusFromError, OurOwnFailuresAreServerErrors) {
  EXPECT_EQ(status_from_error(error(Code::kIo, "disk")).http_code, 500);
  EXPECT_EQ(status_from_error(error(Code::kCorrupt, "row")).http_code, 500);
  EXPECT_EQ(status_from_error(error(Code::kInternal, "bug")).http_code, 500);
  EXPECT_EQ(status_from_error(error(Code::kCancelled, "stopping")).http_code, 503);
  EXPECT_EQ(status_from_error(error(Code::kNotFound, "x").with_reason("Conflict")).http_code, 404);
}

}  // namespace strake::kube::api_error_test
