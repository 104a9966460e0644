# UCI Adult as LightGBM's command line wants it: numbers, separated by tabs, the label first. Texts are numbered as
# they come, missing ones are "nan". Writes adult.train.tsv and adult.test.tsv into the working directory:
#   awk -f examples/adult/numbers.awk examples/adult/adult.train.csv examples/adult/adult.test.csv
BEGIN { FS = ", *"; OFS = "\t" }
NF == 15 {
  out = FILENAME ~ /train/ ? "adult.train.tsv" : "adult.test.tsv"
  line = $15 ~ /^>50K/ ? 1 : 0
  for (column = 1; column <= 14; ++column) {
    if (column == 3) continue  # a census weight that says nothing about the person
    value = $column
    if (value == "?") {
      value = "nan"
    } else if (value !~ /^[0-9]+$/) {
      if (!((column, value) in number)) number[column, value] = count[column]++ + 0
      value = number[column, value]
    }
    line = line OFS value
  }
  print line > out
}
