#include "api/controller_config.h"

namespace strake::api {

const json::Value* ControllerConfigView::infrastructure() const {
  const json::Value* infra = find_field(object_, kControllerConfigFields["spec.infra"]);
  return infra == nullptr || infra->is_null() ? nullptr : infra;
}

void ControllerConfigEdit::set_release_image(std::string_view image) {
  set_text(object_, kControllerConfigFields["spec.releaseImage"], image);
}

void ControllerConfigEdit::set_base_os_images(std::string_view os_image, std::string_view extensions_image) {
  set_text(object_, kControllerConfigFields["spec.baseOSContainerImage"], os_image);
  set_text(object_, kControllerConfigFields["spec.baseOSExtensionsContainerImage"], extensions_image);
}

void ControllerConfigEdit::set_observed_generation(std::int64_t generation) {
  set_field(object_, kControllerConfigFields["status.observedGeneration"], generation);
}

}  // namespace strake::api
